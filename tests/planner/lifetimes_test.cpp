#include "tenure/planner/lifetimes.h"

#include <gtest/gtest.h>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"
#include "tests/planner/order_dags.h"

namespace tenure::planner {
namespace {

TEST(Lifetimes, OfAnOrderNeedItsPeak) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 100; ++i) {
    Dag dag = layered_dag(2 + static_cast<int>(random() % 50), random);
    if (i % 2 == 0)
      for (Node& node : dag.nodes) node.overwrites = ~0U;
    const OrderPlan plan = order(dag, {.steps = 1'000, .given = {}});
    const Lifetimes lifetimes = lifetimes_of(dag, plan.order);
    EXPECT_EQ(lifetimes.problem.buffers.size(), lifetimes.step.size());
    const OffsetPlan arena = solve(lifetimes.problem, {.steps = 0});
    EXPECT_EQ(validate(lifetimes.problem, arena), std::nullopt);
    EXPECT_EQ(dag.resident + arena.lower_bound, plan.peak);
  }
}

TEST(Lifetimes, WhatAnOverwrittenBufferHadMoreIsFree) {
  Dag dag;
  dag.nodes.resize(4);
  dag.nodes[0].bytes = 40;
  dag.nodes[1] = {.bytes = 1, .inputs = {0}, .overwrites = 1};
  dag.nodes[2].bytes = 30;
  dag.nodes[3] = {.bytes = 1, .inputs = {1, 2}, .output = true};
  const OffsetProblem problem = lifetimes_of(dag, {0, 1, 2, 3}).problem;
  const OffsetPlan arena = solve(problem);
  EXPECT_EQ(validate(problem, arena), std::nullopt);
  EXPECT_EQ(arena.offsets[0], arena.offsets[1]);
  EXPECT_EQ(arena.height, order_peak(dag, {0, 1, 2, 3}));
}

TEST(Lifetimes, OfAScheduleThatComputesAgain) {
  Dag dag;
  dag.nodes.resize(3);
  dag.nodes[0].bytes = 10;
  dag.nodes[1] = {.bytes = 4, .workspace = 2, .inputs = {0}};
  dag.nodes[2] = {.bytes = 4, .inputs = {0, 1}, .overwrites = 2, .output = true};
  const Lifetimes lifetimes = lifetimes_of(dag, {0, 1, 0, 2});
  const std::vector<Buffer>& buffers = lifetimes.problem.buffers;
  ASSERT_EQ(buffers.size(), 5U);
  EXPECT_EQ(buffers[0].upper, 2);
  EXPECT_EQ(buffers[1].upper, 4);
  EXPECT_EQ(buffers[2].lower, 2);
  EXPECT_EQ(buffers[3].upper, 5);  // an output stays
  EXPECT_GE(buffers[1].group, 0);
  EXPECT_EQ(buffers[1].group, buffers[3].group);
  EXPECT_EQ(buffers[2].group, -1);
  EXPECT_EQ(buffers[4].size, 2);
  EXPECT_EQ(lifetimes.step, (std::vector<int>{0, 1, 2, 3, 1}));
}

TEST(Lifetimes, RefuseWhatCannotRun) {
  Dag dag;
  dag.nodes.resize(2);
  dag.nodes[1].inputs = {0};
  EXPECT_THROW(lifetimes_of(dag, {1, 0}), ValueError);
  EXPECT_THROW(lifetimes_of(dag, {0}), ValueError);
  EXPECT_THROW(lifetimes_of(dag, {0, 2}), ValueError);
  EXPECT_TRUE(lifetimes_of({}, {}).problem.buffers.empty());
}

}  // namespace
}  // namespace tenure::planner
