#include "tenure/planner/offsets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <utility>

#include "tenure/base/error.h"
#include "tests/planner/offsets_instances.h"

namespace tenure::planner {
namespace {

using test::Dice;

constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();

OffsetPlan solve_and_validate(const OffsetProblem& problem, const OffsetOptions& options = {}) {
  OffsetPlan plan = solve(problem, options);
  EXPECT_EQ(validate(problem, plan), std::nullopt);
  return plan;
}

TEST(Offsets, NothingNeedsNothing) {
  const OffsetPlan plan = solve_and_validate({});
  EXPECT_EQ(plan.height, 0);
  EXPECT_TRUE(plan.optimal());
  EXPECT_TRUE(plan.offsets.empty());
}

TEST(Offsets, WhatTakesNoRoomIsNowhereInTheWay) {
  const OffsetPlan plan = solve_and_validate({{
      {.size = 0, .lower = 0, .upper = 9},
      {.size = 50, .lower = 3, .upper = 3},  // never alive
      {.size = 8, .lower = 0, .upper = 9},
      {.size = 0, .lower = 0, .upper = 9, .offset = 40},
  }});
  EXPECT_EQ(plan.height, 8);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.offsets[3], 40);
  EXPECT_EQ(solve({{{.size = 0, .lower = 0, .upper = 1}}}).height, 0);
  EXPECT_EQ(solve({{{.size = 7, .lower = 1, .upper = 1}}}).height, 0);
}

TEST(Offsets, LifetimesAreHalfOpen) {
  EXPECT_EQ(
      solve({{{.size = 8, .lower = 0, .upper = 5}, {.size = 8, .lower = 5, .upper = 9}}}).height,
      8);
  EXPECT_EQ(
      solve({{{.size = 8, .lower = 0, .upper = 6}, {.size = 8, .lower = 5, .upper = 9}}}).height,
      16);
  EXPECT_EQ(solve({{{.size = 8, .lower = -kHuge, .upper = kHuge},
                    {.size = 8, .lower = -kHuge - 1, .upper = -kHuge}}})
                .height,
            8);
}

TEST(Offsets, KeepsAlignments) {
  const OffsetPlan plan = solve_and_validate({{
      {.size = 1, .lower = 0, .upper = 2, .alignment = 1},
      {.size = 100, .lower = 0, .upper = 2, .alignment = 64},
      {.size = 3, .lower = 1, .upper = 3, .alignment = 4},
      {.size = 64, .lower = 1, .upper = 3, .alignment = 64},
  }});
  EXPECT_EQ(plan.height, 64 + 100 + 3 + 1) << "the large ones in the other order cost 24 more";
}

TEST(Offsets, EveryMultipleOfTheLeastAlignmentCounts) {
  // Three times 128, the topmost without its last 28.
  const Buffer buffer{.size = 100, .lower = 0, .upper = 2, .alignment = 64};
  const OffsetPlan plan = solve_and_validate({{buffer, buffer, buffer}});
  EXPECT_EQ(plan.height, 3 * 128 - 28);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.witness, 0);
}

TEST(Offsets, KeepsGivenOffsets) {
  const OffsetPlan plan = solve_and_validate({{
      {.size = 4, .lower = 0, .upper = 4, .offset = 8},
      {.size = 8, .lower = 0, .upper = 4},
      {.size = 4, .lower = 2, .upper = 6},
      {.size = 2, .lower = 0, .upper = 1, .offset = 14},
  }});
  EXPECT_EQ(plan.offsets[1], 0);
  EXPECT_EQ(plan.height, 16);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.witness, 2);
}

TEST(Offsets, GivenOffsetBoundsTheHeight) {
  const OffsetPlan plan =
      solve_and_validate({{{.size = 4, .lower = 0, .upper = 1, .offset = 100}}});
  EXPECT_EQ(plan.height, 104);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.witness, std::nullopt);
}

TEST(Offsets, GroupIsOneMemory) {
  const OffsetPlan plan = solve_and_validate({{
      {.size = 8, .lower = 0, .upper = 3, .group = 7},
      {.size = 4, .lower = 2, .upper = 6, .alignment = 4, .group = 7},
      {.size = 8, .lower = 5, .upper = 9},  // meets the smaller one alone, but not in its memory
      {.size = 8, .lower = 3, .upper = 3, .alignment = 16, .group = 7},
  }});
  EXPECT_EQ(plan.offsets[0], plan.offsets[1]);
  EXPECT_EQ(plan.offsets[0], plan.offsets[3]);
  EXPECT_EQ(plan.height, 16);
}

TEST(Offsets, GroupTakesAnOffsetFromAnyMember) {
  const OffsetPlan plan = solve_and_validate({{
      {.size = 8, .lower = 0, .upper = 3, .group = 0},
      {.size = 0, .lower = 2, .upper = 6, .offset = 24, .group = 0},
      {.size = 0, .lower = 2, .upper = 2, .group = 1},
      {.size = 0, .lower = 2, .upper = 2, .offset = 5, .group = 1},
  }});
  EXPECT_EQ(plan.offsets, (std::vector<std::int64_t>{24, 24, 5, 5}));
}

TEST(Offsets, PartsThatNeverMeetShareTheArena) {
  Dice dice(3);
  OffsetProblem both = test::cut_rectangle(dice, 60, 64);
  for (Buffer buffer : test::cut_rectangle(dice, 60, 100).buffers) {
    buffer.lower += 1000;
    buffer.upper += 1000;
    both.buffers.push_back(buffer);
  }
  const OffsetPlan plan = solve_and_validate(both);
  EXPECT_EQ(plan.height, 100 * 1024);
  EXPECT_TRUE(plan.optimal());
  EXPECT_GE(plan.witness, 1000);
}

TEST(Offsets, StopsAtACapacityThatIsGoodEnough) {
  Dice dice(5);
  const OffsetProblem problem = test::cut_rectangle(dice, 300, 256);
  const OffsetPlan enough = solve_and_validate(problem, {.capacity = 2 * 256 * 1024});
  EXPECT_LE(enough.height, 2 * 256 * 1024);
  EXPECT_EQ(enough.steps, 0) << "the first packing is lower than that";
  EXPECT_EQ(enough.lower_bound, 256 * 1024);
}

TEST(Offsets, SameOptionsGiveTheSamePlan) {
  Dice dice(7);
  for (int round = 0; round < 5; ++round) {
    const OffsetProblem problem = test::any_problem(dice, 120, 60, 50);
    const OffsetOptions options{.steps = 20'000, .seed = static_cast<std::uint64_t>(round)};
    const OffsetPlan one = solve_and_validate(problem, options);
    const OffsetPlan other = solve_and_validate(problem, options);
    EXPECT_EQ(one.offsets, other.offsets);
    EXPECT_EQ(one.height, other.height);
    EXPECT_EQ(one.lower_bound, other.lower_bound);
    EXPECT_EQ(one.steps, other.steps);
  }
}

TEST(Offsets, ThePlanDoesNotDependOnTheNumberOfThreads) {
  Dice dice(10);
  for (int round = 0; round < 4; ++round) {
    OffsetProblem problem = test::cut_rectangle(dice, 120 + 60 * round, 512);
    problem.buffers.resize(problem.buffers.size() - 8);
    const OffsetPlan one = solve_and_validate(problem, {.steps = 400'000, .threads = 1});
    for (const int threads : {2, 3, 8}) {
      const OffsetPlan other = solve_and_validate(problem, {.steps = 400'000, .threads = threads});
      EXPECT_EQ(one.offsets, other.offsets);
      EXPECT_EQ(one.lower_bound, other.lower_bound);
      EXPECT_EQ(one.steps, other.steps);
    }
  }
}

TEST(Offsets, GapsOfAGroupAreItsMemorys) {
  // 40 bytes, of which the second buffer keeps one: 30 fit beside it, 39 at most.
  OffsetProblem problem{{
      {.size = 40, .lower = 0, .upper = 2, .group = 0},
      {.size = 1, .lower = 1, .upper = 5, .group = 0, .gaps = {{.lower = 2, .upper = 5, .top = 1}}},
      {.size = 39, .lower = 2, .upper = 4},
  }};
  EXPECT_EQ(solve_and_validate(problem).height, 40);
  problem.buffers[2].size = 40;
  EXPECT_EQ(solve_and_validate(problem).height, 41);
}

TEST(Offsets, MoreStepsAreNeverWorse) {
  Dice dice(8);
  for (int round = 0; round < 10; ++round) {
    const OffsetProblem problem = test::any_problem(dice, 100, 50, 1000);
    std::int64_t height = kHuge;
    for (const std::int64_t steps : {0, 100, 1'000, 10'000, 100'000}) {
      const OffsetPlan plan = solve_and_validate(problem, {.steps = steps});
      EXPECT_LE(plan.height, height);
      EXPECT_LE(plan.steps, steps + 1);
      height = plan.height;
    }
  }
}

TEST(Offsets, DeadlineLeavesThePlanWhole) {
  Dice dice(9);
  const OffsetProblem small = test::any_problem(dice, 300, 100, 1000);
  const OffsetProblem large = test::training_step(dice, 5'000);
  for (const double deadline : {-1.0, 0.0, 1e-3, 0.05}) {
    solve_and_validate(small, {.deadline = deadline, .steps = kHuge});
    solve_and_validate(large, {.deadline = deadline, .steps = kHuge});
  }
}

void expect_refused(const OffsetProblem& problem, const std::string& text) {
  try {
    solve(problem);
    ADD_FAILURE() << "expected: " << text;
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Offsets, RefusesWhatMakesNoSense) {
  const Buffer good{.size = 8, .lower = 0, .upper = 4};
  expect_refused({{good, {.size = -1, .lower = 0, .upper = 1}}},
                 "buffer 1 has a negative size: -1");
  expect_refused({{good, good, {.size = 1, .lower = 5, .upper = 4}}},
                 "buffer 2 ends before it begins: it is alive in [5, 4)");
  for (const std::int64_t alignment : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{24}}) {
    expect_refused({{{.size = 8, .upper = 1, .alignment = alignment}}},
                   "buffer 0 has alignment " + std::to_string(alignment));
  }
  expect_refused({{good, {.size = 8, .upper = 1, .group = -2}}}, "buffer 1 has group -2");
  const auto with_gaps = [](std::vector<Gap> gaps) {
    return OffsetProblem{{{.size = 8, .lower = 0, .upper = 4, .gaps = std::move(gaps)}}};
  };
  expect_refused(with_gaps({{.lower = 3, .upper = 5}}), "buffer 0 has a gap in [3, 5)");
  expect_refused(with_gaps({{.lower = 3, .upper = 2}}), "buffer 0 has a gap in [3, 2)");
  expect_refused(with_gaps({{.lower = 1, .upper = 3}, {.lower = 2, .upper = 4}}),
                 "buffer 0 has two gaps at 2");
  expect_refused(with_gaps({{.lower = 1, .upper = 3, .bottom = 0, .top = 9}}),
                 "buffer 0 has a gap that leaves [0, 9) of 8");
  expect_refused(with_gaps({{.lower = 1, .upper = 3, .bottom = 3, .top = 2}}),
                 "buffer 0 has a gap that leaves [3, 2)");
}

TEST(Offsets, RefusesSizesThatOverflow) {
  const Buffer huge{.size = kHuge, .lower = 0, .upper = 4};
  expect_refused({{huge}}, "buffer 0 brings the sum");
  const Buffer half{.size = std::int64_t{1} << 59, .lower = 0, .upper = 4};
  expect_refused({{half, half, half}}, "buffer 1 brings the sum");
  expect_refused({{{.size = 1, .upper = 1, .alignment = std::int64_t{1} << 62}}},
                 "buffer 0 brings the sum");
  expect_refused({{{.size = 1, .upper = 1, .offset = kHuge}}}, "beyond 2^60");
  EXPECT_EQ(solve_and_validate({{half}}).height, half.size);
}

TEST(Offsets, RefusesOffsetsThatCannotBe) {
  expect_refused({{{.size = 8, .upper = 1, .offset = -4}}}, "buffer 0 has a negative offset: -4");
  expect_refused({{{.size = 8, .upper = 1, .alignment = 8, .offset = 4}}},
                 "buffer 0 must lie at 4, which is no multiple of its alignment 8");
  expect_refused({{{.size = 8, .upper = 1, .offset = 4},
                   {.size = 8, .upper = 1},
                   {.size = 8, .upper = 1, .offset = 11}}},
                 "buffer 2 must lie where buffer 0 must lie");
  expect_refused({{{.size = 8, .upper = 1, .offset = 4, .group = 3},
                   {.size = 8, .upper = 1, .offset = 12, .group = 3}}},
                 "buffer 1 must lie at 12, others of its group 3 at 4");
  expect_refused({{{.size = 8, .upper = 1, .offset = 4, .group = 3},
                   {.size = 8, .upper = 1, .alignment = 8, .group = 3}}},
                 "buffer 1 needs alignment 8, but its group 3 must lie at 4");
  // One after the other, and side by side, they may.
  solve_and_validate({{{.size = 8, .upper = 1, .offset = 4},
                       {.size = 8, .lower = 1, .upper = 2, .offset = 4},
                       {.size = 8, .upper = 2, .offset = 12}}});
}

TEST(Offsets, RefusesOptionsThatMakeNoSense) {
  EXPECT_THROW(solve({}, {.deadline = std::nan("")}), ValueError);
  EXPECT_THROW(solve({}, {.steps = -1}), ValueError);
  EXPECT_THROW(solve({}, {.capacity = -1}), ValueError);
  EXPECT_THROW(solve({}, {.threads = -1}), ValueError);
}

}  // namespace
}  // namespace tenure::planner
