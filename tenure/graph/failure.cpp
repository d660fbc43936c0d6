#include "tenure/graph/failure.h"

#include <algorithm>
#include <map>

namespace tenure::graph {

std::vector<bool> fallible_steps(const Lowered& lowered, const std::vector<int>& order) {
  std::map<int, std::int64_t> known;  // per buffer: the size that bounds all of its elements
  const auto holds = [&](const Unit& unit, const ops::IndexBound& bound) {
    const auto found = known.find(unit.in[static_cast<std::size_t>(bound.input)].buffer);
    return found != known.end() && found->second <= bound.size;
  };
  std::vector<bool> fallible(order.size());
  for (std::size_t t = 0; t < order.size(); ++t) {
    const Unit& unit = lowered.units[static_cast<std::size_t>(order[t])];
    const auto& bounds = unit.bounds;
    fallible[t] = unit.may_fail &&
                  (bounds.empty() || !std::all_of(bounds.begin(), bounds.end(),
                                                  [&](const auto& b) { return holds(unit, b); }));
    for (const ops::IndexBound& bound : bounds) {
      const Layout& in = unit.in[static_cast<std::size_t>(bound.input)];
      if (!is_whole(in, lowered.buffers[static_cast<std::size_t>(in.buffer)])) continue;
      const auto [entry, is_new] = known.try_emplace(in.buffer, bound.size);
      if (!is_new) entry->second = std::min(entry->second, bound.size);
    }
  }
  return fallible;
}

}  // namespace tenure::graph
