#include "tenure/graph/place/failure.h"

#include <algorithm>
#include <map>

namespace tenure::graph {
namespace {

bool implies(const ops::IndexBound& a, const ops::IndexBound& b) {
  return a.except == b.except && a.lowest >= b.lowest && a.end <= b.end;
}

}  // namespace

std::vector<bool> fallible_steps(const Lowered& lowered, const std::vector<int>& order) {
  std::multimap<int, ops::IndexBound> known;  // of all elements of a buffer
  const auto holds = [&](const Unit& unit, const ops::IndexBound& bound) {
    const auto [begin, end] =
        known.equal_range(unit.in[static_cast<std::size_t>(bound.input)].buffer);
    return std::any_of(begin, end, [&](const auto& entry) { return implies(entry.second, bound); });
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
      known.emplace(in.buffer, bound);
    }
  }
  return fallible;
}

}  // namespace tenure::graph
