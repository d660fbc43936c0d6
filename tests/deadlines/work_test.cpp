#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tenure/planner/arrange.h"
#include "tenure/planner/clock.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/offsets.h"
#include "tenure/planner/order.h"
#include "tenure/planner/remat.h"
#include "tests/planner/programs.h"

// Whatever the planner does, it looks at the clock again before it has done much, and ends soon
// after the time is over. Work is counted, not timed: the planner's sources are compiled for this
// program so that they tell of each basic block they enter, and the clock of these tests is the
// number of blocks. It is the same in every run, whatever the machine.

namespace {

std::int64_t blocks = 0;  // entered; on one thread, see OnOneCpu

}  // namespace

extern "C" [[gnu::no_sanitize_coverage]] void __sanitizer_cov_trace_pc() { ++blocks; }

namespace tenure::planner {
namespace {

constexpr double kBlock = 1e-9;  // of a second: about what it takes

/// What was seen at the clock during one call.
struct Looks {
  std::int64_t last = 0;
  std::int64_t longest = 0;  ///< most blocks without a look
  std::int64_t number = 0;

  void look() {
    longest = std::max(longest, blocks - last);
    last = blocks;
    ++number;
  }
};
Looks looks;

double counted_seconds() {
  looks.look();
  return kBlock * static_cast<double>(blocks);
}

/// While it lives, time is work.
class CountedTime {
 public:
  CountedTime() { set_clock(counted_seconds); }
  ~CountedTime() { set_clock(nullptr); }
  CountedTime(const CountedTime&) = delete;
  CountedTime& operator=(const CountedTime&) = delete;
};

/// All searches on the thread that asks: then there is nothing to count elsewhere.
class Deadline : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
};

/// The most work between two looks, for a program or a problem of so many parts.
std::int64_t between_looks(std::size_t items) {
  return 5'000'000 + 20'000 * static_cast<std::int64_t>(items);
}

std::size_t items_of(const Dag& dag) {
  std::size_t items = dag.nodes.size();
  for (const Node& node : dag.nodes) items += node.inputs.size();
  return items;
}

/// Calls f, which has `deadline` blocks of time, and holds it to them. `at_once` is what it does in
/// whatever time there is.
template <class F>
void expect_in_time(std::int64_t deadline, std::int64_t at_once, std::size_t items, const F& f) {
  const std::int64_t begin = blocks;
  looks = {.last = begin};
  f();
  const std::int64_t spent = blocks - begin;
  looks.look();  // the end is one
  EXPECT_LE(looks.longest, between_looks(items)) << items << " parts, deadline " << deadline;
  EXPECT_LE(spent, std::max(deadline, at_once) + between_looks(items))
      << items << " parts, deadline " << deadline;
}

std::vector<Dag> some_programs() {
  std::mt19937 random(11);
  std::vector<Dag> programs{chain(20),    chain(60),    residual(16),   residual(33),   unet(5),
                            inception(4), inception(9), transformer(6), transformer(12)};
  for (const int nodes : {1, 3, 8, 20, 60, 150, 400}) {
    for (const bool plain : {true, false}) {
      programs.push_back(random_program(nodes, random, plain));
    }
  }
  return programs;
}

const std::vector<std::int64_t> kDeadlines{0, 20'000'000, 120'000'000};

TEST_F(Deadline, HoldsForOrders) {
  const CountedTime time;
  for (const Dag& dag : some_programs()) {
    for (const std::int64_t deadline : kDeadlines) {
      expect_in_time(deadline, 0, items_of(dag),
                     [&] { order(dag, {.deadline = kBlock * static_cast<double>(deadline)}); });
    }
  }
}

/// Whatever the deadline, some arrangements are known: a refusal names the least of them.
constexpr std::int64_t kAtOnce = 100'000'000;

TEST_F(Deadline, HoldsForArrangements) {
  const CountedTime time;
  for (const Dag& dag : some_programs()) {
    if (items_of(dag) < 100) continue;  // what is small is done at once
    const std::int64_t peak = plain_peak(dag);
    for (const std::int64_t deadline : kDeadlines) {
      for (const std::int64_t budget : {peak * 8 / 10, peak * 4 / 10}) {
        expect_in_time(deadline, kAtOnce, items_of(dag), [&] {
          try {
            arrange(dag, budget, {.deadline = kBlock * static_cast<double>(deadline)});
          } catch (const BudgetError&) {
          }
        });
      }
    }
  }
}

TEST_F(Deadline, HoldsForOffsets) {
  std::mt19937 random(12);
  const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random()) % n; };
  const CountedTime time;
  for (const int buffers : {5, 50, 300, 2000, 6000}) {
    for (const bool has_gaps : {false, true}) {
      OffsetProblem problem;
      for (int i = 0; i < buffers; ++i) {
        const std::int64_t lower = below(buffers);
        Buffer buffer{.size = 1 + below(1000), .lower = lower, .upper = lower + 1 + below(30)};
        if (has_gaps && buffers <= 300 && buffer.upper - buffer.lower > 4 && below(3) == 0) {
          buffer.gaps.push_back({.lower = buffer.lower + 1, .upper = buffer.upper - 1});
        }
        problem.buffers.push_back(std::move(buffer));
      }
      for (const std::int64_t deadline : kDeadlines) {
        expect_in_time(deadline, 0, problem.buffers.size(), [&] {
          solve(problem, {.deadline = kBlock * static_cast<double>(deadline), .threads = 1});
        });
      }
    }
  }
}

/// Without a deadline no clock has a say: the same plan, whatever it shows.
TEST_F(Deadline, ThatIsNotGivenAsksNoClock) {
  for (const Dag& dag : {residual(4), transformer(2)}) {
    const std::int64_t budget = plain_peak(dag) * 7 / 10;
    const auto plan = [&] { return arrange(dag, budget, {.steps = 20'000}); };
    const Arrangement usual = plan();
    set_clock([] { return 1e9 * static_cast<double>(++looks.number); });
    const Arrangement late = plan();
    set_clock(nullptr);
    EXPECT_EQ(usual.schedule.steps, late.schedule.steps);
    EXPECT_EQ(usual.offsets.offsets, late.offsets.offsets);
  }
}

}  // namespace
}  // namespace tenure::planner
