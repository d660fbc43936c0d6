#include "tenure/planner/arrange.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <utility>

#include "tenure/planner/order.h"
#include "tests/planner/order_dags.h"
#include "tests/planner/programs.h"
#include "tests/support/sanitized.h"

namespace tenure::planner {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

RematOptions quick(std::int64_t steps) {
  RematOptions options;
  options.steps = steps;
  return options;
}

/// The contract: a budget is held by the arena, or refused with one that is; what is granted and
/// what it costs never gets worse with a larger one.
void expect_contract(const Dag& dag, const RematOptions& options, const std::string& name) {
  std::int64_t least = 0;
  std::int64_t bound = 0;
  try {
    arrange(dag, dag.resident - 1, options);
    FAIL();
  } catch (const BudgetError& error) {
    least = error.least();
    bound = error.bound();
  }
  EXPECT_LE(bound, least);
  const Arrangement tight = arrange(dag, least, options);
  EXPECT_EQ(validate(dag, tight, least), std::nullopt) << name;
  const std::int64_t plain = std::max(least, plain_peak(dag));
  std::int64_t cost = tight.schedule.added_cost;
  for (int i = 1; i <= 6; ++i) {
    const std::int64_t budget = least + (plain - least) * i / 6;
    const Arrangement found = arrange(dag, budget, options);
    EXPECT_EQ(validate(dag, found, budget), std::nullopt) << name;
    EXPECT_LE(found.schedule.added_cost, cost) << name << " at " << budget;
    cost = found.schedule.added_cost;
  }
  for (std::int64_t budget = least - 1; budget >= std::max(bound, least - 3); --budget) {
    try {
      arrange(dag, budget, options);
      ADD_FAILURE() << name << ": " << budget << " is granted, below " << least;
    } catch (const BudgetError& error) {
      EXPECT_EQ(error.least(), least) << name;
      EXPECT_EQ(error.bound(), bound) << name;
    }
  }
}

TEST(Arrange, HoldsTheBudgetWithItsArena) {
  // Node 1 overwrites the beginning of node 0, whose rest is free for node 2.
  Dag dag;
  dag.nodes.resize(4);
  dag.nodes[0].bytes = 40;
  dag.nodes[1] = {.bytes = 1, .inputs = {0}, .overwrites = 1};
  dag.nodes[2].bytes = 30;
  dag.nodes[3] = {.bytes = 1, .inputs = {1, 2}, .output = true};
  const Arrangement found = arrange(dag, 40);
  EXPECT_EQ(validate(dag, found, 40), std::nullopt);
  EXPECT_EQ(found.size, 40);
  EXPECT_THROW(arrange(dag, 39), BudgetError);
}

TEST(Arrange, KeepsItsContractOnRandomPrograms) {
  std::mt19937 random(11);
  for (int trial = 0; trial < test::rounds(60); ++trial) {
    const Dag dag = random_program(3 + trial % 14, random, trial % 4 == 0);
    expect_contract(dag, quick(2'000), "program " + std::to_string(trial));
  }
}

TEST(Arrange, KeepsItsContractOnProgramsThatOverwrite) {
  std::mt19937_64 random(12);
  for (int trial = 0; trial < test::rounds(6); ++trial) {
    Dag dag = layered_dag(10 + trial, random);
    for (Node& node : dag.nodes) {
      node.cost = static_cast<std::int64_t>(random() % 50);
      node.overwrites = ~0U;
    }
    expect_contract(dag, quick(2'000), "layered " + std::to_string(trial));
  }
}

TEST(Arrange, KeepsItsContractOnTrainingSteps) {
  for (const Dag& dag : {chain(5), residual(3), unet(2)})
    expect_contract(dag, quick(4'000), "training step");
}

/// Layers of nodes that cost something.
Dag costly_layers(int size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Dag dag = layered_dag(size, random);
  for (Node& node : dag.nodes) node.cost = 1 + static_cast<std::int64_t>(random() % 50);
  return dag;
}

std::int64_t least_of(const Dag& dag, const RematOptions& options) {
  try {
    arrange(dag, dag.resident - 1, options);
  } catch (const BudgetError& error) {
    return error.least();
  }
  return kNever;
}

/// Orders matter for what these can do without.
Dag costly_tangle(int size, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Dag dag = random_dag(size, 8, random);
  for (Node& node : dag.nodes) node.cost = 1 + static_cast<std::int64_t>(random() % 50);
  return dag;
}

TEST(Arrange, GrantsTheSameWhateverTheClockSays) {
  const RematOptions patient = quick(2'000);
  RematOptions hasty = patient;
  hasty.deadline = 0;
  constexpr int kSize = test::kSanitized ? 14 : 24;
  for (const Dag& dag : {costly_layers(kSize, 4), costly_tangle(kSize, 26)}) {
    const std::int64_t least = least_of(dag, patient);
    EXPECT_EQ(least_budget(dag, hasty).plan.peak, least_budget(dag, patient).plan.peak);
    // What is refused for good is refused with all the time there is; what is named suffices at
    // once.
    const std::int64_t soon = least_of(dag, hasty);
    EXPECT_GE(soon, least);
    EXPECT_EQ(validate(dag, arrange(dag, soon, hasty), soon), std::nullopt);
    for (int i = 0; i <= 8; ++i) {
      const std::int64_t budget = least - 4 + (std::max(soon, plain_peak(dag)) - least + 8) * i / 8;
      try {
        EXPECT_EQ(validate(dag, arrange(dag, budget, hasty), budget), std::nullopt);
      } catch (const BudgetError& error) {
        EXPECT_LT(budget, soon);
        EXPECT_EQ(error.least(), soon);
        EXPECT_TRUE(!error.is_final() || budget < least);
      }
    }
  }
}

TEST(Arrange, AsksForMoreTimeWhereItIsOverBeforeTheAnswerIsKnown) {
  const Dag dag = residual(8);
  RematOptions hasty;
  hasty.deadline = 0;
  const std::int64_t budget = least_budget(dag).plan.peak * 11 / 10;
  try {
    arrange(dag, budget, hasty);
    FAIL() << "no search was needed";
  } catch (const BudgetError& error) {
    EXPECT_FALSE(error.is_final());
    EXPECT_NE(std::string(error.what()).find("more time"), std::string::npos);
    EXPECT_EQ(arrange(dag, error.least(), hasty).size, error.least());
  }
  hasty.deadline = 1e6;  // long enough, however slow the machine is: the steps end it
  hasty.steps = 2'000;
  EXPECT_EQ(validate(dag, arrange(dag, budget, hasty), budget), std::nullopt);
}

TEST(Arrange, RefusesForGoodWhereNothingFits) {
  const Dag dag = costly_layers(18, 4);
  RematOptions patient = quick(2'000);
  const std::int64_t least = least_of(dag, patient);
  patient.deadline = 1e6;
  try {
    arrange(dag, least - 1, patient);
    FAIL();
  } catch (const BudgetError& error) {
    EXPECT_TRUE(error.is_final());
    EXPECT_EQ(error.least(), least);
  }
}

TEST(Arrange, AHintMakesPlansCheaperAndDecidesNothing) {
  const Dag dag = costly_layers(60, 15);
  const OrderPlan best = order(dag);
  RematOptions hasty = quick(2'000);
  hasty.deadline = 1e-4;
  const std::int64_t least = least_of(dag, hasty);
  hasty.hint = best.order;
  EXPECT_EQ(least_of(dag, hasty), least);
  const std::int64_t arena = solve(lifetimes_of(dag, best.order).problem, {.steps = 0}).height;
  const std::int64_t budget = dag.resident + arena;
  EXPECT_EQ(arrange(dag, budget, hasty).schedule.added_cost, 0);
  hasty.hint.pop_back();
  EXPECT_THROW(arrange(dag, least, hasty), ValueError);
}

TEST(Arrange, GrantsWhatTheGivenOrderTakesWithoutABudget) {
  for (const std::uint64_t seed : {0, 4}) {
    const Dag dag = costly_layers(test::kSanitized ? 40 : 100, seed);
    RematOptions options = quick(200'000);
    options.given = order(dag, {.steps = 200'000}).order;
    // As much as there is for the offsets of an order, where there are so many steps.
    const OffsetPlan arena = solve(lifetimes_of(dag, options.given).problem, {.steps = 400'000});
    const std::int64_t budget = dag.resident + arena.height;
    const Arrangement found = arrange(dag, budget, options);
    EXPECT_EQ(validate(dag, found, budget), std::nullopt);
    EXPECT_EQ(found.schedule.added_cost, 0);
    EXPECT_LE(least_of(dag, options), budget);
  }
}

TEST(Arrange, ArrangesNothing) {
  Dag nothing;
  nothing.resident = 7;
  EXPECT_EQ(arrange(nothing, 7).size, 7);
  EXPECT_THROW(arrange(nothing, 6), BudgetError);
  EXPECT_EQ(least_of(nothing, {}), 7);
  EXPECT_EQ(ladder(nothing).size(), 1U);
}

TEST(Arrange, RefusesOptionsThatMeanNothing) {
  RematOptions options;
  options.deadline = std::nan("");
  EXPECT_THROW(arrange(chain(3), kNever, options), ValueError);
  EXPECT_THROW(arrange(chain(3), kNever, quick(-1)), ValueError);
}

TEST(ArrangeValidate, RejectsWhatDoesNotHold) {
  const Dag dag = residual(3);
  const std::int64_t budget = plain_peak(dag) * 8 / 10;
  const Arrangement good = arrange(dag, budget, quick(10'000));
  ASSERT_EQ(validate(dag, good, budget), std::nullopt);
  EXPECT_NE(validate(dag, good, good.size - 1), std::nullopt);
  Arrangement wrong = good;
  --wrong.size;
  EXPECT_NE(validate(dag, wrong, budget), std::nullopt);
  wrong = good;
  wrong.offsets.offsets[1] = wrong.offsets.offsets[0];
  EXPECT_NE(validate(dag, wrong, budget), std::nullopt);
  wrong = good;
  wrong.schedule.steps.pop_back();
  EXPECT_NE(validate(dag, wrong, budget), std::nullopt);
}

}  // namespace
}  // namespace tenure::planner
