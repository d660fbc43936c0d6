#include "tenure/planner/remat/timeline.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <vector>

#include "tenure/planner/remat/starts.h"
#include "tests/planner/programs.h"

namespace tenure::planner::remat {
namespace {

std::vector<int> plain_word(const Problem& problem) {
  std::vector<int> word(static_cast<std::size_t>(problem.end) + 1);
  std::iota(word.begin(), word.end(), 0);
  return word;
}

TEST(RematTimeline, KeepsUpWithEveryChange) {
  std::mt19937 random(3);
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  for (int trial = 0; trial < 60; ++trial) {
    const Dag dag = random_program(3 + trial % 12, random, trial % 2 == 0);
    const Problem problem(dag);
    const std::int64_t budget = plain_peak(dag) * 2 / 3;
    Timeline line(problem, budget, plain_word(problem));
    for (int change = 0; change < 60; ++change) {
      const int position = below(line.size());
      const int node = below(problem.end);
      if (line.is_useful(node, position)) {
        const std::int64_t expected = line.excess() + line.excess_if_inserted(node, position);
        line.insert(node, position);
        EXPECT_EQ(line.excess(), expected);
      } else if (line.times_computed(line.node_at(position)) > 1 &&
                 line.touch_before(line.node_at(position), position) >= 0) {
        const std::int64_t expected = line.excess() + line.excess_if_erased(position);
        line.erase(position);
        EXPECT_EQ(line.excess(), expected);
      }
      const Timeline fresh(problem, budget, line.word());
      ASSERT_EQ(line.excess(), fresh.excess()) << "trial " << trial << ", change " << change;
      ASSERT_EQ(line.area(), fresh.area());
      ASSERT_EQ(line.peak(), fresh.peak());
      ASSERT_EQ(line.cost(), fresh.cost());
      ASSERT_EQ(line.repeated().size(), fresh.repeated().size());
    }
  }
}

TEST(RematTimeline, EraseTakesInsertBack) {
  const Dag dag = residual(4);
  const Problem problem(dag);
  Timeline line(problem, 0, plain_word(problem));
  const std::int64_t before = line.excess();
  const std::int64_t area = line.area();
  // The first computation goes and comes back elsewhere, as a move of the search does it.
  line.erase(2);
  line.insert(2, 2);
  EXPECT_EQ(line.excess(), before);
  EXPECT_EQ(line.area(), area);
  EXPECT_EQ(line.word(), plain_word(problem));
}

TEST(RematStarts, StayWithinTheBudgetOrFail) {
  for (const Dag& dag : {chain(20), residual(8), unet(4), inception(3), transformer(4)}) {
    const Problem problem(dag);
    int found = 0;
    for (int percent = 100; percent > 0; percent -= 10) {
      const std::int64_t budget = plain_peak(dag) * percent / 100;
      for (const EvictionRule& rule : eviction_rules(problem)) {
        const std::vector<int> word =
            run_with_eviction(problem, plain_word(problem), budget, rule, 100'000);
        if (word.empty()) continue;
        ++found;
        EXPECT_LE(Timeline(problem, budget, word).peak(), budget);
      }
    }
    EXPECT_GT(found, 20);
    EXPECT_LE(lower_bound(problem), plain_peak(dag));
  }
}

}  // namespace
}  // namespace tenure::planner::remat
