#include "tenure/graph/place/shared_buffer.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "tenure/graph/place/failure.h"

namespace tenure::graph {
namespace {

class Sharing {
 public:
  Sharing(const Lowered& lowered, const std::vector<int>& order, bool with_reuse)
      : lowered_(lowered),
        with_reuse_(with_reuse),
        spans_(group_spans(lowered)),
        last_read_(lowered.buffers.size(), -1),
        needed_until_(lowered.buffers.size(), -1),
        shared_buffer_(lowered.buffers.size(), -1) {
    const std::vector<bool> fallible = fallible_steps(lowered, order);
    for (std::size_t t = 0; t < order.size(); ++t) {
      const Unit& unit = lowered.units[at(order[t])];
      if (fallible[t]) last_failure_ = static_cast<int>(t);
      for (const Layout& in : unit.in) {
        last_read_[at(in.buffer)] = static_cast<int>(t);
        const bool is_short = unit.parts == 1 || buffer(in.buffer).is_of_part;
        needed_until_[at(in.buffer)] = is_short ? static_cast<int>(t) : spans_[at(order[t])].last;
      }
    }
    for (std::size_t t = 0; t < order.size(); ++t) {
      settle(order[t], static_cast<int>(t), static_cast<int>(order.size()));
    }
    if (with_reuse) find_reusable();
  }

  std::vector<SharedBuffer> take() && { return std::move(shared_buffers_); }

 private:
  const Buffer& buffer(int b) const { return lowered_.buffers[at(b)]; }

  /// Gives the results of a unit their shared buffers.
  void settle(int u, int t, int end) {
    const Unit& unit = lowered_.units[at(u)];
    std::vector<bool> taken(unit.in.size());
    for (std::size_t o = 0; o < unit.out.size(); ++o) {
      const int b = unit.out[o].buffer;
      // What several parts fill is there from the first of them on to the end of the last.
      const GroupSpan steps =
          buffer(b).is_of_part || unit.parts == 1 ? GroupSpan{t, t} : spans_[at(u)];
      SharedBuffer& shared = shared_buffers_[at(enter(unit, o, {t, steps.first}, taken))];
      shared_buffer_[at(b)] = static_cast<int>(&shared - shared_buffers_.data());
      shared.buffers.push_back(b);
      shared.bytes = std::max(shared.bytes, buffer(b).bytes);
      shared.upper = std::max({shared.upper, steps.last + 1, needed_until_[at(b)] + 1});
      if (buffer(b).kind != Buffer::Kind::output) continue;
      shared.output = buffer(b).index;
      shared.upper = end + 1;
    }
  }

  /// When a result is written, and from when on its memory is its own.
  struct Begin {
    int step = 0;
    int lower = 0;
  };

  /// The shared buffer for result `o`: that of an input which it may overwrite, or a new one.
  int enter(const Unit& unit, std::size_t o, Begin begin, std::vector<bool>& taken) {
    const int t = begin.step;
    SharedBuffer fresh{.lower = begin.lower};
    for (std::size_t i = 0; i < unit.in.size() && i < 32; ++i) {
      const int in = unit.in[i].buffer;
      if ((unit.overwrites[o] >> i & 1) == 0 || last_read_[at(in)] != t || taken[i]) continue;
      const int found = shared_buffer_[at(in)];
      if (found >= 0 && shared_buffers_[at(found)].output < 0) {
        taken[i] = true;
        return found;
      }
      if (with_reuse_ && buffer(in).is_reusable && t >= last_failure_) {
        taken[i] = true;
        fresh.reused = in;
        break;
      }
    }
    shared_buffers_.push_back(std::move(fresh));
    return static_cast<int>(shared_buffers_.size()) - 1;
  }

  /// Finds the reusable buffers that are dead when a shared buffer begins.
  void find_reusable() {
    std::map<int, int> free_from;  // per reusable buffer: the step
    for (std::size_t b = 0; b < lowered_.buffers.size(); ++b) {
      if (lowered_.buffers[b].is_reusable) free_from[static_cast<int>(b)] = needed_until_[b] + 1;
    }
    if (free_from.empty()) return;
    for (SharedBuffer& shared : shared_buffers_) {
      if (shared.reused < 0) continue;
      if (!may_live_in(shared, shared.reused)) {
        shared.reused = -1;
      } else {
        free_from[shared.reused] = shared.upper;
      }
    }
    std::vector<std::size_t> by_size(shared_buffers_.size());
    for (std::size_t r = 0; r < by_size.size(); ++r) by_size[r] = r;
    std::stable_sort(by_size.begin(), by_size.end(), [&](std::size_t a, std::size_t b) {
      const auto rank = [&](std::size_t r) {
        return std::pair(shared_buffers_[r].output >= 0, shared_buffers_[r].bytes);
      };
      return rank(a) > rank(b);
    });
    for (const std::size_t r : by_size) {
      SharedBuffer& shared = shared_buffers_[r];
      if (shared.reused >= 0 || shared.bytes == 0 || shared.lower < last_failure_) continue;
      shared.reused = reusable_for(shared, free_from);
      if (shared.reused >= 0) free_from[shared.reused] = shared.upper;
    }
  }

  /// What a variable held may turn out to be somebody else's too: only an output can do without.
  bool may_live_in(const SharedBuffer& shared, int reused) const {
    const bool same = shared.bytes == buffer(reused).bytes;
    if (buffer(reused).kind == Buffer::Kind::source) return same && is_assigned(shared.output);
    return shared.output >= 0 ? same : shared.bytes <= buffer(reused).bytes;
  }

  bool is_assigned(int output) const {
    return std::any_of(lowered_.assignments.begin(), lowered_.assignments.end(),
                       [&](const Assignment& a) { return a.output == output; });
  }

  /// A variable's own old value first, then the smallest reusable buffer that is large enough.
  int reusable_for(const SharedBuffer& shared, const std::map<int, int>& free_from) const {
    int best = -1;
    for (const auto& [reused, step] : free_from) {
      if (step > shared.lower || !may_live_in(shared, reused)) continue;
      if (is_assigned_to(shared.output, reused)) return reused;
      if (best < 0 || buffer(reused).bytes < buffer(best).bytes) best = reused;
    }
    return best;
  }

  bool is_assigned_to(int output, int reused) const {
    if (buffer(reused).kind != Buffer::Kind::source) return false;
    const VariableState* const variable = lowered_.sources[at(buffer(reused).index)].variable.get();
    return std::any_of(
        lowered_.assignments.begin(), lowered_.assignments.end(),
        [&](const Assignment& a) { return a.output == output && a.variable.get() == variable; });
  }

  const Lowered& lowered_;
  const bool with_reuse_;
  std::vector<GroupSpan> spans_;   // per unit; those in groups stand in the order in which they run
  std::vector<int> last_read_;     // step, per buffer
  std::vector<int> needed_until_;  // the same, with all parts of the group that reads it
  std::vector<int> shared_buffer_;  // per buffer
  std::vector<SharedBuffer> shared_buffers_;
  int last_failure_ = -1;  // the last step that may fail
};

}  // namespace

std::vector<SharedBuffer> shared_buffers_of(const Lowered& lowered, const std::vector<int>& order,
                                            bool with_reuse) {
  return Sharing(lowered, order, with_reuse).take();
}

std::vector<std::int64_t> live_in_arena(const Lowered& lowered) {
  std::vector<int> order(lowered.units.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::int64_t> live(order.size() + 2);
  for (const SharedBuffer& shared : shared_buffers_of(lowered, order, true)) {
    if (shared.reused >= 0 || shared.output >= 0) continue;
    live[at(shared.lower)] += aligned(lowered, shared.bytes);
    live[at(shared.upper)] -= aligned(lowered, shared.bytes);
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  live.resize(order.size());
  for (std::size_t u = 0; u < live.size(); ++u) {
    live[u] += aligned(lowered, static_cast<std::int64_t>(lowered.units[u].workspace));
  }
  return live;
}

}  // namespace tenure::graph
