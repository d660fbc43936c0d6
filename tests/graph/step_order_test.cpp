#include "tenure/graph/run/step_order.h"

#include <gtest/gtest.h>

#include <random>

namespace tenure::graph {
namespace {

using Steps = std::vector<std::vector<Access>>;

/// Whether one of two must not touch what the other does, or did.
bool collide(const std::vector<Access>& one, const std::vector<Access>& other) {
  for (const Access& a : one) {
    for (const Access& b : other) {
      const bool overlap = a.base == b.base && a.begin < b.end && b.begin < a.end;
      if (overlap && (a.writes || b.writes)) return true;
    }
  }
  return false;
}

/// Which steps come before each, by whatever way.
std::vector<std::vector<bool>> all_before(const std::vector<std::vector<std::int32_t>>& order) {
  std::vector<std::vector<bool>> before(order.size(), std::vector<bool>(order.size()));
  for (std::size_t s = 0; s < order.size(); ++s) {
    for (const std::int32_t other : order[s]) {
      const auto o = static_cast<std::size_t>(other);
      before[s][o] = true;
      for (std::size_t i = 0; i < o; ++i) before[s][i] = before[s][i] || before[o][i];
    }
  }
  return before;
}

/// Steps that meet in some bytes, one of which writes them, come one behind the other, and all that
/// comes behind something has a reason; no reason is told twice.
TEST(StepOrder, KeepsApartWhatMeetsAndNothingElse) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    Steps steps(1 + random() % 24);
    for (std::vector<Access>& step : steps) {
      step.resize(random() % 5);
      for (Access& access : step) {
        access.base = static_cast<int>(random() % 2);
        access.begin = static_cast<std::int64_t>(random() % 40);
        access.end = access.begin + static_cast<std::int64_t>(random() % 12);
        access.writes = random() % 3 == 0;
      }
    }
    const auto order = step_order(steps);
    const auto before = all_before(order);
    ASSERT_EQ(order.size(), steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (std::size_t o = 0; o < s; ++o) {
        EXPECT_TRUE(before[s][o] || !collide(steps[s], steps[o])) << round << ' ' << s << ' ' << o;
      }
      for (const std::int32_t other : order[s]) {
        const auto o = static_cast<std::size_t>(other);
        EXPECT_LT(o, s);
        EXPECT_TRUE(collide(steps[s], steps[o]));
        for (const std::int32_t third : order[s]) {
          EXPECT_FALSE(before[static_cast<std::size_t>(third)][o]) << "it follows from " << third;
        }
      }
    }
  }
}

TEST(StepOrder, LeavesIndependentStepsAlone) {
  const auto order = step_order({{{0, 0, 8, true}},
                                 {{0, 8, 16, true}},
                                 {{0, 0, 8, false}, {1, 0, 4, true}},
                                 {{0, 0, 16, false}, {1, 4, 8, true}}});
  EXPECT_TRUE(order[0].empty());
  EXPECT_TRUE(order[1].empty());
  EXPECT_EQ(order[2], std::vector<std::int32_t>{0});
  EXPECT_EQ(order[3], (std::vector<std::int32_t>{1, 0}));
}

}  // namespace
}  // namespace tenure::graph
