#include "tenure/graph/place/bound.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tenure/graph/passes/split.h"

namespace tenure::graph {
namespace {

/// Note: what may be subtracted
///
/// All that a unit reads and makes lies somewhere while it runs: in the arena, in the memory of an
/// output, or in a reusable buffer, memory that was there before. A peak is the arena and the
/// outputs that reuse none. So it is at least the sum over what the unit reads and makes, less what
/// can lie in reusable buffers; and the outputs come on top, less what can lie in them. Each "can"
/// is answered generously.
class Bound {
 public:
  explicit Bound(const Lowered& lowered) : lowered_(lowered), ends_(lowered.buffers.size()) {
    for (const Buffer& buffer : lowered.buffers) {
      if (!buffer.is_reusable) continue;
      reusable_[buffer.bytes] += 1;
      reusable_bytes_ += buffer.bytes;
      if (buffer.kind == Buffer::Kind::input)
        largest_donated_ = std::max(largest_donated_, buffer.bytes);
    }
    std::map<std::int64_t, std::int64_t> outputs;  // how many, by size
    for (std::size_t b = 0; b < ends_.size(); ++b) {
      ends_[b] = lowered.buffers[b].kind == Buffer::Kind::output;
      if (ends_[b]) outputs[lowered.buffers[b].bytes] += 1;
    }
    for (const auto& [bytes, count] : outputs) {
      const auto found = reusable_.find(bytes);
      const std::int64_t reusing = found == reusable_.end() ? 0 : found->second;
      outputs_ += bytes * std::max<std::int64_t>(count - reusing, 0);
    }
    for (auto unit = lowered.units.rbegin(); unit != lowered.units.rend(); ++unit) {
      for (std::size_t o = 0; o < unit->out.size(); ++o) {
        if (!ends_[at(unit->out[o].buffer)]) continue;
        for (std::size_t i = 0; i < unit->in.size() && i < 32; ++i) {
          if ((unit->overwrites[o] >> i & 1) != 0) ends_[at(unit->in[i].buffer)] = true;
        }
      }
    }
  }

  std::int64_t of_outputs() const { return outputs_; }

  std::int64_t of(const Unit& unit) const {
    // In parts it has a piece at a time of what is cut, and another workspace.
    const std::vector<int> parts = part_counts(unit);
    UnitCut cut{.in = std::vector<bool>(unit.in.size()), .out = std::vector<bool>(unit.out.size())};
    if (!parts.empty()) cut = *cut_of(unit, parts.front());
    std::int64_t all = parts.empty() ? static_cast<std::int64_t>(unit.workspace) : 0;
    std::int64_t in_reusable = 0;
    std::int64_t in_outputs = 0;
    const auto add = [&](const Layout& layout, bool is_cut) {
      const int b = layout.buffer;
      const std::int64_t whole = lowered_.buffers[at(b)].bytes;
      const std::int64_t bytes = is_cut ? whole / layout.shape[0] : whole;
      all += bytes;
      if (bytes <= largest_donated_ || reusable_.contains(whole)) in_reusable += bytes;
      if (ends_[at(b)]) in_outputs += bytes;
    };
    std::set<int> read;
    for (std::size_t i = 0; i < unit.in.size(); ++i) {
      const Layout& in = unit.in[i];
      if (lowered_.buffers[at(in.buffer)].unit >= 0 && read.insert(in.buffer).second) {
        add(in, cut.in[i]);
      }
    }
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      bool is_in_place = false;
      for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
        is_in_place |= (unit.overwrites[o] >> i & 1) != 0 && read.contains(unit.in[i].buffer);
      }
      if (!is_in_place) add(unit.out[o], cut.out[o]);
    }
    return outputs_ + all - std::min(in_reusable, reusable_bytes_) - std::min(in_outputs, outputs_);
  }

 private:
  const Lowered& lowered_;
  std::map<std::int64_t, std::int64_t> reusable_;  // how many, by size
  std::int64_t reusable_bytes_ = 0;
  std::int64_t largest_donated_ = 0;  // of donated inputs, which may hold what is smaller, too
  std::int64_t outputs_ = 0;          // bytes of those that find nothing to reuse, whatever happens
  std::vector<bool> ends_;            // per buffer: it may lie where an output comes to lie
};

}  // namespace

std::int64_t least_conceivable(const Lowered& lowered) {
  const Bound bound(lowered);
  std::int64_t least = bound.of_outputs();
  for (const Unit& unit : lowered.units) least = std::max(least, bound.of(unit));
  return least;
}

}  // namespace tenure::graph
