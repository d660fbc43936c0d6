#include "tenure/planner/lifetimes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"
#include "tests/planner/order_dags.h"

namespace tenure::planner {
namespace {

/// The most that is alive at a time, a group counting once.
std::int64_t most_alive(const OffsetProblem& problem, std::int64_t steps) {
  std::int64_t most = 0;
  for (std::int64_t t = 0; t <= steps; ++t) {
    std::int64_t sum = 0;
    std::vector<int> seen;
    for (const Buffer& buffer : problem.buffers) {
      if (t < buffer.lower || t >= buffer.upper) continue;
      if (buffer.group >= 0) {
        if (std::find(seen.begin(), seen.end(), buffer.group) != seen.end()) continue;
        seen.push_back(buffer.group);
      }
      sum += buffer.size;
    }
    most = std::max(most, sum);
  }
  return most;
}

TEST(Lifetimes, OfAnOrderNeedItsPeak) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 50; ++i) {
    Dag dag = layered_dag(2 + static_cast<int>(random() % 50), random);
    for (Node& node : dag.nodes) node.bytes = 8;  // groups of equal sizes hold no more than needed
    const OrderPlan plan = order(dag, {.steps = 1'000, .given = {}});
    const Lifetimes lifetimes = lifetimes_of(dag, plan.order);
    const auto steps = static_cast<std::int64_t>(plan.order.size());
    EXPECT_EQ(dag.resident + most_alive(lifetimes.problem, steps), plan.peak);
    EXPECT_EQ(lifetimes.problem.buffers.size(), lifetimes.step.size());
  }
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
