#include "tenure/graph/run/step_order.h"

#include <algorithm>
#include <functional>
#include <map>

namespace tenure::graph {
namespace {

/// Bytes that all steps so far have treated alike.
struct Stretch {
  std::int64_t end = 0;
  std::int32_t writer = -1;  ///< the last; -1: none
  std::vector<std::int32_t> readers{};  ///< since then
};
/// By where they begin; bytes that nobody has touched are in none.
using Stretches = std::map<std::int64_t, Stretch>;

/// Cuts a stretch in two where it is at `place`.
void cut(Stretches& stretches, std::int64_t place) {
  auto after = stretches.upper_bound(place);
  if (after == stretches.begin()) return;
  auto& [begin, stretch] = *std::prev(after);
  if (begin == place || stretch.end <= place) return;
  Stretch rest = stretch;
  stretch.end = place;
  stretches.emplace(place, std::move(rest));
}

/// Calls `f` for all stretches from begin to end, those that are new among them.
template <class F>
void for_each(Stretches& stretches, std::int64_t begin, std::int64_t end, const F& f) {
  cut(stretches, begin);
  cut(stretches, end);
  for (std::int64_t at = begin; at < end;) {
    auto next = stretches.lower_bound(at);
    if (next == stretches.end() || next->first != at) {
      const std::int64_t until = next == stretches.end() ? end : std::min(end, next->first);
      next = stretches.emplace(at, Stretch{.end = until}).first;
    }
    f(next->second);
    at = next->second.end;
  }
}

/// Which steps come before each, by whatever way: a bit for each.
class Before {
 public:
  explicit Before(std::size_t steps) : words_((steps + 63) / 64), bits_(steps * words_) {}
  bool has(std::int32_t step, std::int32_t other) const {
    return (bits_[at(step) * words_ + at(other) / 64] >> (other % 64) & 1) != 0;
  }
  void add(std::int32_t step, std::int32_t other) {
    for (std::size_t w = 0; w < words_; ++w) {
      bits_[at(step) * words_ + w] |= bits_[at(other) * words_ + w];
    }
    bits_[at(step) * words_ + at(other) / 64] |= std::uint64_t{1} << (other % 64);
  }

 private:
  static std::size_t at(std::int32_t step) { return static_cast<std::size_t>(step); }
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace

std::vector<std::vector<std::int32_t>> step_order(
    const std::vector<std::vector<Access>>& accesses) {
  std::vector<std::vector<std::int32_t>> order(accesses.size());
  std::map<int, Stretches> bases;
  Before before(accesses.size());
  for (std::size_t s = 0; s < accesses.size(); ++s) {
    const auto step = static_cast<std::int32_t>(s);
    std::vector<std::int32_t> found;
    for (const Access& access : accesses[s]) {
      for_each(bases[access.base], access.begin, access.end, [&](const Stretch& stretch) {
        if (stretch.writer >= 0) found.push_back(stretch.writer);
        if (access.writes) {
          found.insert(found.end(), stretch.readers.begin(), stretch.readers.end());
        }
      });
    }
    for (const Access& access : accesses[s]) {
      for_each(bases[access.base], access.begin, access.end, [&](Stretch& stretch) {
        if (access.writes) {
          stretch.writer = step;
          stretch.readers.clear();
        } else if (stretch.writer != step &&
                   (stretch.readers.empty() || stretch.readers.back() != step)) {
          stretch.readers.push_back(step);
        }
      });
    }
    // The latest first: what comes before one of them is known.
    std::sort(found.begin(), found.end(), std::greater<>());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    for (const std::int32_t other : found) {
      if (other == step || before.has(step, other)) continue;
      before.add(step, other);
      order[s].push_back(other);
    }
  }
  return order;
}

}  // namespace tenure::graph
