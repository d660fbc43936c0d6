#include <gtest/gtest.h>

#include <algorithm>

#include "tenure/planner/order.h"
#include "tenure/planner/ordering/baselines.h"
#include "tenure/planner/ordering/beam.h"
#include "tenure/planner/ordering/bound.h"
#include "tenure/planner/ordering/exact.h"
#include "tenure/planner/ordering/net.h"
#include "tests/planner/order_dags.h"

// What the solver is made of, each part alone.

namespace tenure::planner::ordering {
namespace {

constexpr std::int64_t kMany = std::int64_t{1} << 60;

std::vector<std::vector<int>> simple_orders(const Net& net) {
  return {breadth_first(net), depth_first(net), post_order(net), list_schedule(net),
          least_peak_first(net)};
}

/// Least peak memory first as its authors tell it, looking at every ready step.
std::vector<int> slow_least_peak_first(const Net& net) {
  Walk walk(net);
  std::vector<int> ready = walk.ready_at_start();
  std::vector<int> order;
  std::int64_t peak = walk.live();
  while (!ready.empty()) {
    const auto price = [&](int v) {
      const Walk::Step step = walk.look(v);
      const bool fits = step.during <= peak;
      return std::pair(!fits, fits ? step.after : step.during);
    };
    const auto best = std::min_element(ready.begin(), ready.end(),
                                       [&](int a, int b) { return price(a) < price(b); });
    order.push_back(*best);
    ready.erase(best);
    peak = std::max(peak, walk.run(order.back(), ready).during);
  }
  return order;
}

TEST(OrderParts, PlansAreNotAboveSimpleOrders) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 150; ++i) {
    const int size = 2 + static_cast<int>(random() % 200);
    const Dag dag = i % 2 == 0 ? layered_dag(size, random)
                               : shuffled(random_dag(size / 3 + 1, 20, random), random);
    const OrderPlan plan =
        order(dag, {.steps = static_cast<std::int64_t>(random() % 10'000), .given = {}});
    ASSERT_EQ(validate(dag, plan), std::nullopt);
    const Net net = make_net(dag);
    for (const std::vector<int>& simple : simple_orders(net)) {
      ASSERT_EQ(peak_of(net, simple), order_peak(dag, simple));
      ASSERT_LE(plan.peak, order_peak(dag, simple));
    }
  }
}

TEST(OrderParts, LeastPeakFirstTakesWhatTheSlowOneTakes) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 50; ++i) {
    Dag dag = layered_dag(2 + static_cast<int>(random() % 200), random);
    // Different amounts everywhere, so that nothing depends on how ties are broken.
    for (Node& node : dag.nodes) {
      node.bytes = static_cast<std::int64_t>(random() >> 24);
      node.workspace = static_cast<std::int64_t>(random() >> 24);
      node.output = true;
    }
    for (const Node& node : dag.nodes) {
      for (const int u : node.inputs) dag.nodes[static_cast<std::size_t>(u)].output = false;
    }
    const Net net = make_net(dag);
    EXPECT_EQ(least_peak_first(net), slow_least_peak_first(net));
  }
}

TEST(OrderParts, BackwardsHasTheSamePeak) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 200; ++i) {
    const Dag dag = layered_dag(2 + static_cast<int>(random() % 60), random);
    const Net net = make_net(dag);
    for (std::vector<int> order : simple_orders(net)) {
      const std::int64_t peak = order_peak(dag, order);
      std::reverse(order.begin(), order.end());
      EXPECT_EQ(peak_of(reversed(net), order), peak);
      EXPECT_EQ(peak_of(reversed(reversed(reversed(net))), order), peak);
    }
  }
}

TEST(OrderParts, PartsHaveTheProfileOfTheWhole) {
  std::mt19937_64 random(4);
  for (int i = 0; i < 200; ++i) {
    const int size = 2 + static_cast<int>(random() % 60);
    const Net net = make_net(layered_dag(size, random));
    const std::vector<int> order = depth_first(net);
    const std::vector<Walk::Step> whole = profile_of(net, order);
    const std::size_t begin = random() % order.size();
    const std::size_t length = 1 + random() % (order.size() - begin);
    Walk walk(net);
    std::vector<int> ready;
    for (std::size_t k = 0; k < begin; ++k) walk.run(order[k], ready);
    const Net part = part_of(net, walk, std::span(order).subspan(begin, length));
    std::vector<int> same(length);
    for (std::size_t k = 0; k < length; ++k) same[k] = static_cast<int>(k);
    const std::vector<Walk::Step> profile = profile_of(part, same);
    for (std::size_t k = 0; k < length; ++k) {
      ASSERT_EQ(profile[k].during, whole[begin + k].during);
      ASSERT_EQ(profile[k].after, whole[begin + k].after);
    }
  }
}

TEST(OrderParts, BoundsBeamsAndExactSearchAgree) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 100; ++i) {
    const Net net = make_net(layered_dag(3 + static_cast<int>(random() % 25), random));
    Allowance allowance(1e6, kMany);
    const ExactResult exact = search_exactly(net, kMany, 0, 1'000'000, allowance);
    ASSERT_TRUE(exact.complete);
    ASSERT_EQ(peak_of(net, exact.order), exact.peak);
    ASSERT_EQ(exact.bound, exact.peak);
    const ExactResult backwards = search_exactly(reversed(net), kMany, 0, 1'000'000, allowance);
    EXPECT_EQ(backwards.peak, exact.peak);
    const ExactResult none = search_exactly(net, exact.peak, 0, 1'000'000, allowance);
    EXPECT_TRUE(none.complete);
    EXPECT_TRUE(none.order.empty());

    const std::vector<int> some = list_schedule(net);
    EXPECT_LE(step_bound(net), exact.peak);
    EXPECT_LE(cut_bound(net, some, 0, allowance), exact.peak);
    EXPECT_LE(cut_bound(net, exact.order, 0, allowance), exact.peak);

    for (const int credit : {0, 8, 16}) {
      const BeamOptions options{.width = 64, .credit = credit, .noise = credit, .seed = 1};
      const auto found = search_beam(net, exact.peak + 20, options, allowance);
      if (found) {
        EXPECT_LT(peak_of(net, *found), exact.peak + 20);
        EXPECT_GE(peak_of(net, *found), exact.peak);
      }
      EXPECT_FALSE(search_beam(net, exact.peak, options, allowance));
    }
  }
}

}  // namespace
}  // namespace tenure::planner::ordering
