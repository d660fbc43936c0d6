#include "tenure/planner/ordering/improve.h"

#include <algorithm>
#include <optional>

#include "tenure/planner/ordering/beam.h"
#include "tenure/planner/ordering/exact.h"
#include "tenure/planner/ordering/sets.h"
#include "tenure/planner/random.h"

namespace tenure::planner::ordering {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

using Random = MixedCounter<mixed>;

/// An order of the net with a peak below `limit`, if this try finds one.
std::optional<std::vector<int>> try_once(const Net& net, std::int64_t limit, std::int64_t bound,
                                         Random& random, Allowance& allowance) {
  constexpr int kShort = 48;
  constexpr std::int64_t kStates = 10'000;
  if (net.size <= kShort) {
    ExactResult result = search_exactly(net, limit, bound, kStates, allowance);
    if (result.complete && result.order.empty()) return std::nullopt;
    if (!result.order.empty()) return std::move(result.order);
  }
  const BeamOptions options{.width = std::size_t{8} << random.below(5),
                            .credit = 4 * random.below(5),
                            .noise = limit / 100 * random.below(3),
                            .seed = random.next()};
  if (random.below(2) == 0) return search_beam(net, limit, options, allowance);
  std::optional<std::vector<int>> order = search_beam(reversed(net), limit, options, allowance);
  if (order) std::reverse(order->begin(), order->end());
  return order;
}

}  // namespace

std::int64_t improve(const Net& net, std::vector<int>& order, std::int64_t bound, int patience,
                     std::uint64_t seed, Allowance& allowance) {
  constexpr int kLongest = 4000;
  Random random(seed);
  std::vector<Walk::Step> profile = profile_of(net, order);
  const auto higher = [](const Walk::Step& a, const Walk::Step& b) { return a.during < b.during; };
  auto top = std::max_element(profile.begin(), profile.end(), higher);
  for (int failures = 0; failures < patience && top->during > bound && !allowance.over();) {
    const int place = static_cast<int>(top - profile.begin());
    // Lengths from 16 to all, each power of two as likely as the next.
    int length = std::min(net.size, kLongest);
    for (int halvings = random.below(8); halvings > 0 && length >= 32; --halvings) length /= 2;
    const int begin = std::clamp(place - random.below(length), 0, net.size - length);
    Walk walk(net);
    std::vector<int> ignored;
    for (int i = 0; i < begin; ++i) walk.run(order[at(i)], ignored);
    const std::span<int> steps = std::span(order).subspan(at(begin), at(length));
    const Net part = part_of(net, walk, steps);
    allowance.spend(static_cast<std::int64_t>(net.touches.items() / 2 + 4 * part.touches.items()));
    const auto found = try_once(part, top->during, bound, random, allowance);
    if (!found) {
      ++failures;
      continue;
    }
    failures = 0;
    const std::vector<int> old(steps.begin(), steps.end());
    for (std::size_t i = 0; i < old.size(); ++i) steps[i] = old[at((*found)[i])];
    profile = profile_of(net, order);
    top = std::max_element(profile.begin(), profile.end(), higher);
  }
  return top->during;
}

}  // namespace tenure::planner::ordering
