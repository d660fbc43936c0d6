#include "tenure/planner/order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "tenure/base/error.h"
#include "tests/planner/order_dags.h"
#include "tests/support/sanitized.h"

namespace tenure::planner {
namespace {

/// The least peak over all topological orders, tried one by one.
std::int64_t least_peak(const Dag& dag) {
  std::vector<int> order(dag.nodes.size());
  std::iota(order.begin(), order.end(), 0);
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  do {
    try {
      least = std::min(least, order_peak(dag, order));
    } catch (const ValueError&) {  // not topological
    }
  } while (std::next_permutation(order.begin(), order.end()));
  return least;
}

void expect_optimal(const Dag& dag) {
  const OrderPlan plan = order(dag);
  EXPECT_EQ(validate(dag, plan), std::nullopt);
  EXPECT_TRUE(plan.optimal());
  ASSERT_EQ(plan.peak, least_peak(dag));
}

TEST(Order, AgreesWithBruteForceOnAllSmallDags) {
  std::mt19937_64 random(1);
  for (int size = 1; size <= 4; ++size) {
    const int pairs = size * (size - 1) / 2;
    for (int edges = 0; edges < 1 << pairs; ++edges) {
      Dag dag;
      dag.nodes.resize(static_cast<std::size_t>(size));
      for (int v = 1, bit = 0; v < size; ++v) {
        for (int u = 0; u < v; ++u, ++bit) {
          if ((edges >> bit & 1) != 0) dag.nodes[static_cast<std::size_t>(v)].inputs.push_back(u);
        }
      }
      for (int i = 0; i < 20; ++i) {
        decorate(dag, random);
        expect_optimal(dag);
      }
    }
  }
}

TEST(Order, AgreesWithBruteForceOnRandomDags) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 60; ++i) {
    const int size = 5 + static_cast<int>(random() % 2);
    expect_optimal(
        shuffled(random_dag(size, 10 + static_cast<int>(random() % 60), random), random));
  }
}

TEST(Order, BoundsAreBoundsHoweverEarlyItStops) {
  std::mt19937_64 random(3);
  for (int i = 0; i < tenure::test::rounds(50); ++i) {
    const Dag dag = layered_dag(20 + static_cast<int>(random() % 50), random);
    const OrderPlan best = order(dag, {.steps = 100'000, .given = {}});
    ASSERT_EQ(validate(dag, best), std::nullopt);
    for (const std::int64_t steps : {0, 1, 100, 3'000}) {
      const OrderPlan plan = order(dag, {.steps = steps, .given = {}});
      ASSERT_EQ(validate(dag, plan), std::nullopt);
      ASSERT_LE(plan.lower_bound, best.peak);
      ASSERT_GE(plan.peak, best.lower_bound);
    }
  }
}

TEST(Order, IsNotWorseThanTheGivenOrder) {
  std::mt19937_64 random(4);
  for (int i = 0; i < tenure::test::rounds(30); ++i) {
    const Dag dag = layered_dag(10 + static_cast<int>(random() % 200), random);
    std::vector<int> indices(dag.nodes.size());
    std::iota(indices.begin(), indices.end(), 0);
    EXPECT_LE(order(dag, {.steps = 0, .given = {}}).peak, order_peak(dag, indices));
    const OrderPlan good = order(dag, {.steps = 100'000, .given = {}});
    const OrderPlan plan = order(dag, {.steps = 0, .given = good.order});
    EXPECT_LE(plan.peak, good.peak);
  }
}

TEST(Order, IsDeterministic) {
  std::mt19937_64 random(5);
  const Dag dag = layered_dag(400, random);
  const OrderOptions options{.steps = 400'000, .seed = 7, .given = {}};
  const OrderPlan first = order(dag, options);
  const OrderPlan second = order(dag, options);
  EXPECT_EQ(first.order, second.order);
  EXPECT_EQ(first.lower_bound, second.lower_bound);
}

TEST(Order, StopsAtTheDeadline) {
  std::mt19937_64 random(6);
  const Dag dag = layered_dag(2'000, random);
  const OrderPlan plan =
      order(dag, {.deadline = 0, .steps = std::numeric_limits<std::int64_t>::max(), .given = {}});
  EXPECT_EQ(validate(dag, plan), std::nullopt);
}

TEST(Order, TakesLargePrograms) {
  std::mt19937_64 random(7);
  Dag dag = layered_dag(tenure::test::rounds(20'000), random);
  OrderPlan plan = order(dag, {.steps = 200'000, .given = {}});
  EXPECT_EQ(validate(dag, plan), std::nullopt);
  Dag chain;
  for (int v = 0; v < tenure::test::rounds(100'000); ++v) {
    chain.nodes.emplace_back().bytes = 1;
    if (v > 0) chain.nodes.back().inputs = {v - 1};
  }
  plan = order(chain);
  EXPECT_EQ(plan.peak, 2);
  EXPECT_TRUE(plan.optimal());
}

TEST(Order, OfNothing) {
  Dag dag;
  dag.resident = 5;
  const OrderPlan plan = order(dag);
  EXPECT_TRUE(plan.order.empty());
  EXPECT_EQ(plan.peak, 5);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(validate(dag, plan), std::nullopt);
}

TEST(Order, CountsInPlaceWorkspaceAndOutputs) {
  Dag dag;
  dag.resident = 1000;
  dag.nodes.resize(3);
  dag.nodes[0].bytes = 10;
  dag.nodes[1] = {.bytes = 8, .workspace = 3, .inputs = {0}};
  dag.nodes[2] = {.bytes = 1, .inputs = {1}};
  EXPECT_EQ(order_peak(dag, {0, 1, 2}), 1021);
  dag.nodes[1].overwrites = 1;
  EXPECT_EQ(order_peak(dag, {0, 1, 2}), 1013);
  dag.nodes[0].output = true;  // so it must not be overwritten
  EXPECT_EQ(order_peak(dag, {0, 1, 2}), 1021);
  dag.nodes[0].output = false;
  dag.nodes[1].bytes = 11;  // too large for it
  EXPECT_EQ(order_peak(dag, {0, 1, 2}), 1024);
}

TEST(Order, RefusesBadInput) {
  Dag dag;
  dag.nodes.resize(2);
  dag.nodes[1].inputs = {0};
  EXPECT_THROW(order(dag, {.given = {1, 0}}), ValueError);
  EXPECT_THROW(order(dag, {.given = {0}}), ValueError);
  EXPECT_THROW(order(dag, {.given = {0, 0}}), ValueError);
  EXPECT_THROW(order(dag, {.given = {0, 2}}), ValueError);
  dag.nodes[0].inputs = {1};
  EXPECT_THROW(order(dag), ValueError);
}

TEST(OrderValidator, RejectsMutatedPlans) {
  std::mt19937_64 random(8);
  for (int i = 0; i < 50; ++i) {
    const Dag dag = layered_dag(5 + static_cast<int>(random() % 30), random);
    const OrderPlan plan = order(dag, {.steps = 10'000, .given = {}});
    ASSERT_EQ(validate(dag, plan), std::nullopt);

    OrderPlan wrong = plan;
    const int node = static_cast<int>(1 + random() % (dag.nodes.size() - 1));
    const int input = dag.nodes[static_cast<std::size_t>(node)].inputs[0];
    std::iter_swap(std::find(wrong.order.begin(), wrong.order.end(), node),
                   std::find(wrong.order.begin(), wrong.order.end(), input));
    EXPECT_NE(validate(dag, wrong), std::nullopt);

    wrong = plan;
    wrong.order.pop_back();
    EXPECT_NE(validate(dag, wrong), std::nullopt);
    wrong.order.push_back(plan.order[0]);
    EXPECT_NE(validate(dag, wrong), std::nullopt);
    wrong.order.back() = static_cast<int>(dag.nodes.size());
    EXPECT_NE(validate(dag, wrong), std::nullopt);

    wrong = plan;
    ++wrong.peak;
    EXPECT_NE(validate(dag, wrong), std::nullopt);
    wrong = plan;
    wrong.lower_bound = plan.peak + 1;
    EXPECT_NE(validate(dag, wrong), std::nullopt);
  }
}

}  // namespace
}  // namespace tenure::planner
