#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/planner/programs.h"
#include "tests/planner/remat_options.h"

// What is planned is as good as the best of all schedules there are, where these can be counted.

namespace tenure::planner {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Every schedule there is: the state is what was computed and what is in memory; a move computes a
/// node, in place or not, or frees one. With a budget the least total cost; without one the least
/// peak.
class BruteForce {
 public:
  explicit BruteForce(const Dag& dag) : dag_(dag), nodes_(static_cast<int>(dag.nodes.size())) {}

  std::int64_t least_cost(std::int64_t budget) const { return search(budget, false); }
  std::int64_t least_peak() const { return search(kNever, true); }

 private:
  struct State {
    std::int64_t value;
    unsigned computed;
    unsigned live;
    bool operator<(const State& other) const {
      return std::tie(other.value, other.computed, other.live) < std::tie(value, computed, live);
    }
  };

  std::int64_t bytes(unsigned live) const {
    std::int64_t sum = dag_.resident;
    for (int v = 0; v < nodes_; ++v)
      if ((live >> v & 1) != 0) sum += dag_.nodes[static_cast<std::size_t>(v)].bytes;
    return sum;
  }

  std::int64_t search(std::int64_t budget, bool by_peak) const {
    const unsigned all = (1U << nodes_) - 1;
    unsigned outputs = 0;
    for (int v = 0; v < nodes_; ++v)
      if (dag_.nodes[static_cast<std::size_t>(v)].output) outputs |= 1U << v;
    std::map<std::pair<unsigned, unsigned>, std::int64_t> best;
    std::priority_queue<State> queue;
    const auto reach = [&](unsigned computed, unsigned live, std::int64_t value) {
      const auto [found, is_new] = best.try_emplace({computed, live}, value);
      if (!is_new && found->second <= value) return;
      found->second = value;
      queue.push({value, computed, live});
    };
    reach(0, 0, by_peak ? dag_.resident : 0);
    while (!queue.empty()) {
      const State state = queue.top();
      queue.pop();
      if (best[{state.computed, state.live}] < state.value) continue;
      if (state.computed == all && (outputs & ~state.live) == 0) return state.value;
      for (int v = 0; v < nodes_; ++v) {
        const unsigned bit = 1U << v;
        if ((state.live & bit) != 0) {
          reach(state.computed, state.live & ~bit, state.value);
          continue;
        }
        const Node& node = dag_.nodes[static_cast<std::size_t>(v)];
        if ((state.computed & bit) != 0 && !node.pure) continue;
        unsigned inputs = 0;
        for (int input : node.inputs) inputs |= 1U << input;
        if ((inputs & ~state.live) != 0) continue;
        const auto compute = [&](unsigned live_after, std::int64_t memory) {
          if (memory > budget) return;
          reach(state.computed | bit, live_after,
                by_peak ? std::max(state.value, memory) : state.value + node.cost);
        };
        compute(state.live | bit, bytes(state.live) + node.workspace + node.bytes);
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
          const int input = node.inputs[k];
          if ((node.overwrites >> k & 1) == 0 ||
              dag_.nodes[static_cast<std::size_t>(input)].bytes < node.bytes)
            continue;
          compute((state.live & ~(1U << input)) | bit, bytes(state.live) + node.workspace);
        }
      }
    }
    return kNever;
  }

  const Dag& dag_;
  int nodes_;
};

void expect_agreement(const Dag& dag, const char* kind, int trial) {
  const BruteForce brute(dag);
  const std::int64_t least = brute.least_peak();
  const LeastBudget found = least_budget(dag, quick(100'000));
  EXPECT_EQ(found.plan.peak, least) << kind << " " << trial;
  EXPECT_EQ(found.bound, least);
  EXPECT_EQ(validate(dag, found.plan, least), std::nullopt);
  const std::int64_t plain = plain_peak(dag);
  for (std::int64_t budget = least; budget <= plain;
       budget += std::max<std::int64_t>(1, (plain - least) / 3)) {
    const RematPlan plan = rematerialize(dag, budget, quick(100'000));
    EXPECT_EQ(validate(dag, plan, budget), std::nullopt);
    EXPECT_EQ(plan.added_cost, brute.least_cost(budget) - total_cost(dag))
        << kind << " " << trial << " at " << budget;
    EXPECT_TRUE(plan.optimal());
  }
  if (least > 0) {
    EXPECT_THROW(rematerialize(dag, least - 1, quick(100'000)), BudgetError);
  }
}

TEST(Remat, AgreesWithBruteForceOnPlainPrograms) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial)
    expect_agreement(random_program(3 + trial % 5, random, true), "plain", trial);
}

TEST(Remat, AgreesWithBruteForceOnProgramsWithEverything) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial)
    expect_agreement(random_program(3 + trial % 5, random, false), "full", trial);
}

TEST(Remat, AgreesWithBruteForceOnSmallTrainingSteps) {
  expect_agreement(transformer(0), "empty forward", 0);
  TrainingStep step;
  step.add({step.add({step.add({}, 3, 2)}, 4, 5)}, 2, 1);
  expect_agreement(step.with_backward(), "chain", 0);
}

}  // namespace
}  // namespace tenure::planner
