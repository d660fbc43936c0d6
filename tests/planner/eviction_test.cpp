#include "tenure/planner/eviction.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/planner/eager_run.h"
#include "tests/planner/programs.h"

namespace tenure::planner {
namespace {

TEST(Eviction, ChoosesTheCheapStaleAndLarge) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 100, .cost = 1000});
  policy.on_compute(2, {.bytes = 100, .cost = 10});
  policy.on_compute(3, {.bytes = 1, .cost = 10});
  policy.on_compute(4, {.bytes = 100, .cost = 10});
  EXPECT_EQ(policy.live_bytes(), 301);
  EXPECT_EQ(policy.choose(50), (std::vector<Eviction::Id>{2}));
  policy.on_compute(5, {.bytes = 0, .cost = 9});
  policy.on_access(2);
  policy.on_compute(6, {.bytes = 0, .cost = 1});
  EXPECT_EQ(policy.choose(50), (std::vector<Eviction::Id>{4}));
  EXPECT_TRUE(policy.is_live(4)) << "a choice changes nothing";
}

TEST(Eviction, GivesUpNothingThatIsNotNeeded) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 10, .cost = 1});
  policy.on_compute(2, {.bytes = 100, .cost = 50});
  policy.on_compute(3, {.bytes = 1, .cost = 1000});
  EXPECT_EQ(policy.choose(60), (std::vector<Eviction::Id>{2}));
}

TEST(Eviction, CountsWhatIsGoneAround) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 10, .cost = 500});
  policy.on_compute(2, {.bytes = 10, .cost = 10, .inputs = {1}});
  policy.on_compute(3, {.bytes = 10, .cost = 500});
  policy.on_compute(4, {.bytes = 10, .cost = 11, .inputs = {3}});
  for (Eviction::Id id : {1, 2, 3, 4}) policy.on_access(id);
  EXPECT_EQ(policy.choose(1), (std::vector<Eviction::Id>{2}));
  policy.on_evict(1);
  EXPECT_EQ(policy.choose(1), (std::vector<Eviction::Id>{4})) << "2 would need 1 again";
  policy.on_recompute(1);
  for (Eviction::Id id : {1, 2, 3, 4}) policy.on_access(id);
  EXPECT_EQ(policy.choose(1), (std::vector<Eviction::Id>{2}));
}

TEST(Eviction, ChoosesAmongThoseThatMayGo) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 10, .cost = 1});
  policy.on_compute(2, {.bytes = 10, .cost = 100});
  const auto is_even = [](Eviction::Id id) { return id % 2 == 0; };
  EXPECT_EQ(policy.choose(5, is_even), (std::vector<Eviction::Id>{2}));
  EXPECT_THROW(policy.choose(11, is_even), EvictionError);
}

TEST(Eviction, ForgetsBehindWhatIsSettled) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 10, .cost = 1});
  policy.on_compute(2, {.bytes = 10, .cost = 1, .inputs = {1}});
  policy.on_compute(3, {.bytes = 10, .cost = 1, .inputs = {2}});
  policy.on_evict(1);
  policy.on_free(1);
  EXPECT_TRUE(policy.is_known(1)) << "2 is computed from it";
  EXPECT_THROW(policy.on_settle(1), ValueError);
  policy.on_settle(2);
  EXPECT_FALSE(policy.is_known(1));
  EXPECT_FALSE(policy.is_known(2));
  EXPECT_EQ(policy.live_bytes(), 10);
  EXPECT_EQ(policy.choose(1), (std::vector<Eviction::Id>{3}));
  policy.on_free(3);
  EXPECT_EQ(policy.known(), 0u);
}

TEST(Eviction, NeverChoosesPinnedOrImpureResults) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 10, .cost = 1, .inputs = {}, .pure = false});
  policy.on_compute(2, {.bytes = 10, .cost = 1});
  policy.on_compute(3, {.bytes = 10, .cost = 100});
  policy.pin(2);
  EXPECT_EQ(policy.choose(5), (std::vector<Eviction::Id>{3}));
  try {
    policy.choose(11);
    FAIL();
  } catch (const EvictionError& error) {
    EXPECT_EQ(error.wanted(), 11);
    EXPECT_EQ(error.possible(), 10);
  }
  policy.unpin(2);
  EXPECT_EQ(policy.choose(11).size(), 2U);
  EXPECT_TRUE(policy.choose(0).empty());
}

TEST(Eviction, ForgetsWhatNothingCanAskFor) {
  Eviction policy;
  for (Eviction::Id id = 0; id < 1000; ++id) {
    std::vector<Eviction::Id> inputs;
    if (id > 0) inputs = {id - 1};
    policy.on_compute(id, {.bytes = 1, .cost = 1, .inputs = inputs});
  }
  for (Eviction::Id id = 0; id < 999; ++id) policy.on_free(id);
  EXPECT_EQ(policy.known(), 1000U) << "999 may have to be computed again from all of them";
  policy.on_free(999);
  EXPECT_EQ(policy.known(), 0U);
  EXPECT_EQ(policy.live_bytes(), 0);
}

TEST(Eviction, RefusesWrongCalls) {
  Eviction policy;
  policy.on_compute(1, {.bytes = 1, .cost = 1});
  EXPECT_THROW(policy.on_compute(1, {}), ValueError);
  EXPECT_THROW(policy.on_compute(2, {.bytes = -1}), ValueError);
  EXPECT_THROW(policy.on_compute(2, {.bytes = 0, .cost = -1}), ValueError);
  EXPECT_THROW(policy.on_access(2), ValueError);
  EXPECT_THROW(policy.on_recompute(1), ValueError);
  EXPECT_THROW(policy.unpin(1), ValueError);
  policy.on_evict(1);
  EXPECT_THROW(policy.on_evict(1), ValueError);
  EXPECT_FALSE(policy.is_live(1));
}

TEST(Eviction, TakesALongChain) {
  Eviction policy;
  constexpr Eviction::Id kLength = 100'000;
  for (Eviction::Id id = 0; id < kLength; ++id) {
    std::vector<Eviction::Id> inputs;
    if (id > 0) inputs = {id - 1};
    policy.on_compute(id, {.bytes = 1, .cost = 1, .inputs = inputs});
    if (policy.live_bytes() > 100)
      for (Eviction::Id gone : policy.choose(50)) policy.on_evict(gone);
  }
  EXPECT_LE(policy.live_bytes(), 100);
}

TEST(EvictionRun, StaysWithinTheBudgetAndKeepsImpureResults) {
  std::mt19937 random(5);
  for (int trial = 0; trial < 100; ++trial) {
    const Dag dag = random_program(20, random, false);
    const std::int64_t budget = plain_peak(dag) * 3 / 4;
    EagerRun<Eviction> run(dag, budget);
    if (run.run()) {
      EXPECT_LE(run.peak(), budget);
    }
    EXPECT_EQ(run.impure_evictions(), 0);
  }
}

TEST(EvictionRun, AddsLessThanDtrOnTheWhole) {
  double ours = 0;
  double theirs = 0;
  for (const Dag& dag : {chain(40), residual(16), inception(9), transformer(12)}) {
    for (int percent : {80, 60, 50, 40, 30}) {
      const std::int64_t budget = plain_peak(dag) * percent / 100;
      const auto cost = EagerRun<Eviction>(dag, budget).run();
      const auto dtr = EagerRun<DtrPolicy>(dag, budget).run();
      ASSERT_TRUE(cost.has_value());
      ASSERT_TRUE(dtr.has_value());
      const double base = static_cast<double>(total_cost(dag));
      ours += static_cast<double>(*cost) / base - 1;
      theirs += static_cast<double>(*dtr) / base - 1;
    }
  }
  EXPECT_LT(ours, theirs);
}

}  // namespace
}  // namespace tenure::planner
