#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "tests/planner/programs.h"
#include "tests/planner/remat_options.h"

// The judge of plans, and what a plan frees when.

namespace tenure::planner {
namespace {

TEST(RematValidate, RejectsMutatedPlans) {
  Dag dag = residual(4);
  const std::int64_t budget = plain_peak(dag) * 6 / 10;
  const RematPlan plan = rematerialize(dag, budget, quick(40'000));
  ASSERT_EQ(validate(dag, plan, budget), std::nullopt);
  EXPECT_NE(validate(dag, plan, plan.peak - 1), std::nullopt);
  RematPlan other = plan;
  other.peak -= 1;
  EXPECT_NE(validate(dag, other, budget), std::nullopt);
  other = plan;
  other.added_cost += 1;
  EXPECT_NE(validate(dag, other, budget), std::nullopt);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    other = plan;
    other.steps.erase(other.steps.begin() + static_cast<std::ptrdiff_t>(i));
    EXPECT_NE(validate(dag, other, budget), std::nullopt) << "without step " << i;
  }
  other = plan;
  std::swap(other.steps.front(), other.steps.back());
  EXPECT_NE(validate(dag, other, budget), std::nullopt);
  other = plan;
  other.steps.push_back(-1);
  EXPECT_NE(validate(dag, other, budget), std::nullopt);
  for (Node& node : dag.nodes) node.pure = false;
  EXPECT_NE(validate(dag, plan, budget), std::nullopt);
}

TEST(RematFreedAfter, FreesEveryResultOnceItIsNotRead) {
  Dag dag = chain(6);
  dag.nodes[4].output = true;
  const RematPlan plan = rematerialize(dag, plain_peak(dag) * 7 / 10, quick(40'000));
  const std::vector<std::vector<int>> freed = freed_after(dag, plan.steps);
  std::vector<char> live(dag.nodes.size(), false);
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const auto node = static_cast<std::size_t>(plan.steps[i]);
    for (int input : dag.nodes[node].inputs) EXPECT_TRUE(live[static_cast<std::size_t>(input)]);
    EXPECT_FALSE(live[node]);
    live[node] = true;
    for (int gone : freed[i]) {
      EXPECT_TRUE(live[static_cast<std::size_t>(gone)]);
      live[static_cast<std::size_t>(gone)] = false;
    }
  }
  EXPECT_EQ(std::count(live.begin(), live.end(), true), 1);
  EXPECT_TRUE(live[4]);
}

}  // namespace
}  // namespace tenure::planner
