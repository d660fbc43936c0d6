#include "tenure/planner/remat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tenure/planner/formats.h"
#include "tenure/planner/order.h"
#include "tests/planner/order_dags.h"
#include "tests/planner/programs.h"
#include "tests/planner/remat_options.h"
#include "tests/support/sanitized.h"

namespace tenure::planner {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

TEST(Remat, PlansOfTrainingStepsAreValidAndMonotone) {
  for (const Dag& dag : {chain(12), residual(6), unet(3), inception(3), transformer(3)}) {
    const std::int64_t plain = plain_peak(dag);
    std::vector<std::int64_t> budgets;
    for (int percent : {100, 55, 80, 45, 65}) budgets.push_back(plain * percent / 100);
    const std::vector<RematPlan> plans = rematerialize(dag, budgets, quick(test::rounds(60'000)));
    ASSERT_EQ(plans.size(), budgets.size());
    EXPECT_EQ(plans[0].added_cost, 0);
    for (std::size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(validate(dag, plans[i], budgets[i]), std::nullopt);
      for (std::size_t k = 0; k < plans.size(); ++k) {
        if (budgets[i] > budgets[k]) continue;
        EXPECT_LE(plans[i].peak, plans[k].peak);
        EXPECT_GE(plans[i].added_cost, plans[k].added_cost);
      }
    }
  }
}

/// What holds for budgets a <= b that are planned apart from each other.
void expect_monotone(const Dag& dag, int budgets, const RematOptions& options) {
  const std::int64_t plain = plain_peak(dag);
  const std::int64_t least = least_budget(dag, options).plan.peak;
  const std::vector<Rung> rungs = ladder(dag, options);
  EXPECT_EQ(rungs.front().plan.peak, least);
  std::int64_t cost = kNever;
  for (int i = 0; i <= budgets; ++i) {
    const std::int64_t budget = least + (plain - least) * i / budgets;
    const RematPlan plan = rematerialize(dag, budget, options);
    EXPECT_EQ(validate(dag, plan, budget), std::nullopt);
    EXPECT_LE(plan.added_cost, cost) << "at " << budget;
    EXPECT_LE(plan.cost_bound, plan.added_cost);
    cost = plan.added_cost;
    const auto above = std::find_if(rungs.begin(), rungs.end(),
                                    [&](const Rung& rung) { return rung.budget > budget; });
    ASSERT_NE(above, rungs.begin());
    EXPECT_EQ(plan.added_cost, (above - 1)->plan.added_cost);
    EXPECT_LE((above - 1)->plan.peak, budget);
  }
  if (least > 0) {
    EXPECT_THROW(rematerialize(dag, least - 1, options), BudgetError);
  }
}

TEST(Remat, NeverCostsMoreWithALargerBudget) {
  std::mt19937_64 random(4);
  for (const int nodes : {14, 30, 60, 120}) {
    if (test::kSanitized && nodes > 30) continue;
    for (int trial = 0; trial < test::rounds(nodes > 50 ? 1 : 2); ++trial) {
      Dag dag = layered_dag(nodes, random);
      for (Node& node : dag.nodes) node.cost = static_cast<std::int64_t>(random() % 100);
      expect_monotone(dag, 6, quick(20'000));
    }
  }
  std::mt19937 small(5);
  for (int trial = 0; trial < test::rounds(24); ++trial)
    expect_monotone(random_program(4 + trial % 14, small, trial % 2 == 0), 5, quick(2'000));
}

TEST(Remat, BoundsAreBounds) {
  // Dearer plans of a weaker search must respect the bound too.
  for (const Dag& dag : {chain(6), residual(3), unet(2), inception(1), transformer(1)}) {
    for (const int percent : {45, 60, 75, 90}) {
      if (test::kSanitized && (percent != 60 || dag.nodes.size() > 60)) continue;
      const std::int64_t budget = plain_peak(dag) * percent / 100;
      if (least_budget(dag).plan.peak > budget) continue;
      const RematPlan weak = rematerialize(dag, budget, quick(0));
      const RematPlan good = rematerialize(dag, budget, quick(test::rounds(200'000)));
      EXPECT_EQ(weak.cost_bound == weak.added_cost, weak.optimal());
      EXPECT_LE(weak.cost_bound, good.added_cost);
    }
  }
}

TEST(Remat, NeverRefusesWhatASmallerBudgetWasGranted) {
  std::mt19937_64 random(9);
  Dag dag = layered_dag(test::kSanitized ? 30 : 120, random);
  for (Node& node : dag.nodes) node.cost = 1 + static_cast<std::int64_t>(random() % 100);
  const std::int64_t least = least_budget(dag).plan.peak;
  RematOptions hasty;
  hasty.deadline = 0;  // spent before it begins
  for (int i = 0; i < 4; ++i) {
    const std::int64_t budget = least + (plain_peak(dag) - least) * i / 3;
    EXPECT_EQ(validate(dag, rematerialize(dag, budget, hasty), budget), std::nullopt);
  }
}

TEST(Remat, CostsNothingWhereAnOrderDoes) {
  std::mt19937_64 random(6);
  for (const int nodes : {30, 120, 250}) {
    if (test::kSanitized && nodes > 30) continue;
    Dag dag = layered_dag(nodes, random);
    for (Node& node : dag.nodes) node.cost = 1;
    const OrderPlan plan = order(dag);
    const RematPlan found = rematerialize(dag, plan.peak, quick(1'000));
    EXPECT_EQ(found.added_cost, 0);
    EXPECT_TRUE(found.optimal());
    RematOptions given = quick(0);
    given.given = plan.order;
    EXPECT_EQ(rematerialize(dag, plan.peak, given).added_cost, 0);
  }
}

TEST(Remat, TellsHowFarItIs) {
  double last = 0;
  RematOptions options = quick(20'000);
  options.progress = [&](double share) {
    EXPECT_GE(share, last);
    EXPECT_LE(share, 1);
    last = share;
  };
  const Dag dag = residual(6);
  rematerialize(dag, plain_peak(dag) / 2, options);
  EXPECT_GT(last, 0);
}

TEST(Remat, DependsOnSeedAndStepsAlone) {
  const Dag dag = residual(6);
  const std::int64_t budget = plain_peak(dag) / 2;
  RematOptions options = quick(40'000);
  options.seed = 7;
  const RematPlan first = rematerialize(dag, budget, options);
  EXPECT_EQ(rematerialize(dag, budget, options).steps, first.steps);
}

/// Checkpoints at equal distances: the forward pass again, segment by segment, before its backward.
std::int64_t cost_of_checkpoints(const Dag& dag, int forward, int stride, std::int64_t budget) {
  std::vector<int> steps(static_cast<std::size_t>(forward));
  std::iota(steps.begin(), steps.end(), 0);
  int segment = forward;
  for (int v = forward; v < static_cast<int>(dag.nodes.size()); ++v) {
    int lowest = forward;
    for (int input : dag.nodes[static_cast<std::size_t>(v)].inputs)
      if (input < forward) lowest = std::min(lowest, input);
    if (lowest < segment) {
      const int start = lowest / stride * stride;
      for (int u = start + 1; u < segment; ++u) steps.push_back(u);
      segment = start;
    }
    steps.push_back(v);
  }
  RematPlan plan{steps, -1, -1};
  for (int repeat = 0; repeat < 2; ++repeat) {
    const std::string problem = validate(dag, plan, kNever).value_or("");
    if (problem.rfind("the peak is ", 0) == 0) plan.peak = std::stoll(problem.substr(12));
    if (problem.rfind("the added cost is ", 0) == 0)
      plan.added_cost = std::stoll(problem.substr(18));
  }
  return validate(dag, plan, budget) == std::nullopt ? plan.added_cost : kNever;
}

TEST(Remat, IsNoDearerThanCheckpointsAtEqualDistances) {
  const Dag dag = chain(24);
  const int forward = 1 + 3 * 24;
  for (int percent : {60, 45, 35}) {
    const std::int64_t budget = plain_peak(dag) * percent / 100;
    const RematPlan plan = rematerialize(dag, budget, quick(60'000));
    for (int stride = 2; stride < forward; stride += 5)
      EXPECT_LE(plan.added_cost, cost_of_checkpoints(dag, forward, stride, budget));
  }
}

TEST(Remat, WhatIsUsualIsCloseToLongSearches) {
  if (test::kSanitized) GTEST_SKIP() << "a second's search takes long";
  // A tenth of the way from the least budget to the peak: the hardest of the budgets.
  constexpr std::int64_t kBudget = 646;
  constexpr std::int64_t kFoundByLongSearches = 1564;
  const Dag dag = chain(24);
  const RematPlan plan = rematerialize(dag, kBudget);
  EXPECT_EQ(validate(dag, plan, kBudget), std::nullopt);
  EXPECT_LE(100 * (total_cost(dag) + plan.added_cost),
            102 * (total_cost(dag) + kFoundByLongSearches));
}

TEST(Remat, ComputesImpureNodesOnce) {
  Dag dag = chain(10);
  for (std::size_t v = 5; v < dag.nodes.size(); v += 7) dag.nodes[v].pure = false;
  const RematPlan plan = rematerialize(dag, plain_peak(dag) * 7 / 10, quick(60'000));
  for (std::size_t v = 0; v < dag.nodes.size(); ++v)
    if (!dag.nodes[v].pure) {
      EXPECT_EQ(std::count(plan.steps.begin(), plan.steps.end(), static_cast<int>(v)), 1);
    }
  for (Node& node : dag.nodes) node.pure = false;
  EXPECT_THROW(rematerialize(dag, plain_peak(dag) / 2, quick(20'000)), BudgetError);
}

TEST(Remat, RefusesImpossibleBudgetsAndSaysWhatWouldDo) {
  const Dag dag = residual(4);
  const LeastBudget least = least_budget(dag, quick(20'000));
  EXPECT_EQ(validate(dag, least.plan, least.plan.peak), std::nullopt);
  try {
    rematerialize(dag, 3, quick(20'000));
    FAIL();
  } catch (const BudgetError& error) {
    EXPECT_EQ(error.budget(), 3);
    EXPECT_EQ(error.least(), least.plan.peak);
    EXPECT_EQ(error.bound(), least.bound);
    EXPECT_NE(std::string(error.what()).find(std::to_string(error.least())), std::string::npos);
    EXPECT_EQ(validate(dag, rematerialize(dag, error.least(), quick(20'000)), error.least()),
              std::nullopt);
  }
}

TEST(Remat, RefusesBadInput) {
  Dag dag = chain(2);
  dag.nodes[0].inputs = {3};
  EXPECT_THROW(rematerialize(dag, 1'000'000), ValueError);
  dag.nodes[0].inputs = {1000};
  EXPECT_THROW(rematerialize(dag, 1'000'000), ValueError);
  dag = chain(2);
  dag.nodes[0].bytes = -1;
  EXPECT_THROW(least_budget(dag), ValueError);
  dag = chain(2);
  RematOptions options;
  options.given = {0, 1};
  EXPECT_THROW(rematerialize(dag, 1'000'000, options), ValueError);
  options.given.assign(dag.nodes.size(), 0);
  EXPECT_THROW(rematerialize(dag, 1'000'000, options), ValueError);
  options.given.resize(dag.nodes.size());
  std::iota(options.given.rbegin(), options.given.rend(), 0);
  EXPECT_THROW(rematerialize(dag, 1'000'000, options), ValueError);
  dag.nodes[0].cost = std::int64_t{1} << 55;
  EXPECT_THROW(rematerialize(dag, 1'000'000), ValueError);
  EXPECT_THROW(rematerialize(chain(2), 1'000'000, quick(-1)), ValueError);
  RematOptions no_number;
  no_number.deadline = std::nan("");
  EXPECT_THROW(rematerialize(chain(2), 1'000'000, no_number), ValueError);
}

TEST(Remat, PlansNothingAndNextToNothing) {
  Dag dag;
  dag.resident = 5;
  EXPECT_EQ(rematerialize(dag, 5).peak, 5);
  EXPECT_TRUE(rematerialize(dag, 5).steps.empty());
  EXPECT_THROW(rematerialize(dag, 4), BudgetError);
  EXPECT_TRUE(rematerialize(dag, std::vector<std::int64_t>{}).empty());
  dag.nodes.emplace_back();
  EXPECT_EQ(rematerialize(dag, 5).steps, std::vector<int>{0});
}

TEST(Remat, TakesHugeSizes) {
  Dag dag = chain(4);
  for (Node& node : dag.nodes) node.bytes = (node.bytes << 46) + 12'345;
  const std::int64_t budget = plain_peak(dag) / 10 * 7;
  EXPECT_EQ(validate(dag, rematerialize(dag, budget, quick(20'000)), budget), std::nullopt);
}

TEST(Remat, TakesALongProgram) {
  const Dag dag = chain(12'500);
  ASSERT_GT(dag.nodes.size(), 80'000U);
  const std::int64_t budget = plain_peak(chain(1250)) * 5;
  const RematPlan plan = rematerialize(dag, budget, quick(10));
  EXPECT_LE(plan.peak, budget);
  EXPECT_GT(plan.added_cost, 0);
}

TEST(Remat, PlansTheSharedGraphs) {
  const char* const folder = std::getenv("TENURE_PLANNER_DATA");
  if (folder == nullptr) GTEST_SKIP() << "TENURE_PLANNER_DATA names no folder of instances";
  for (const char* name : {"resnet50_b184.json", "unet_b11.json"}) {
    const auto path = std::filesystem::path(folder) / "remat" / name;
    std::ifstream file(path);
    ASSERT_TRUE(file.is_open()) << path;
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const Dag dag = read_program(text, name).dag;
    const std::vector<std::int64_t> budgets = {std::int64_t{10} << 30, std::int64_t{5} << 30};
    const std::vector<RematPlan> plans = rematerialize(dag, budgets, quick(300'000));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      EXPECT_EQ(validate(dag, plans[i], budgets[i]), std::nullopt);
      EXPECT_LT(plans[i].added_cost, total_cost(dag) / (i == 0 ? 10 : 4));
    }
  }
}

}  // namespace
}  // namespace tenure::planner
