#include <gtest/gtest.h>

#include <string>

#include "tenure/planner/offsets.h"
#include "tests/planner/offsets_instances.h"

namespace tenure::planner {
namespace {

using test::Dice;

void expect_fault(const OffsetProblem& problem, const OffsetPlan& plan, const std::string& text) {
  const auto fault = validate(problem, plan);
  ASSERT_TRUE(fault.has_value()) << "expected: " << text;
  EXPECT_NE(fault->find(text), std::string::npos) << *fault;
}

TEST(OffsetsValidate, NamesWhatIsWrong) {
  const OffsetProblem problem{{
      {.size = 8, .lower = 0, .upper = 4, .alignment = 4},
      {.size = 8, .lower = 3, .upper = 9},
      {.size = 4, .lower = 4, .upper = 6, .offset = 16},
      {.size = 2, .lower = 6, .upper = 7, .group = 1},
      {.size = 2, .lower = 7, .upper = 8, .group = 1},
  }};
  const OffsetPlan good{.offsets = {0, 8, 16, 4, 4}, .height = 20, .lower_bound = 16, .witness = 3};
  EXPECT_EQ(validate(problem, good), std::nullopt);
  OffsetPlan plan = good;
  plan.offsets.pop_back();
  expect_fault(problem, plan, "there are 4 offsets for 5 buffers");
  plan = good;
  plan.offsets[1] = -1;
  expect_fault(problem, plan, "buffer 1 has a negative offset: -1");
  plan = good;
  plan.offsets[1] = 7;
  expect_fault(problem, plan, "buffer 0 and buffer 1 overlap");
  plan = good;
  plan.offsets[0] = 2;
  expect_fault(problem, plan, "no multiple of its alignment 4");
  plan = good;
  plan.offsets[2] = 0;
  expect_fault(problem, plan, "buffer 2 lies at 0 and must lie at 16");
  plan = good;
  plan.offsets[4] = 0;
  expect_fault(problem, plan, "buffer 3 and buffer 4 are of one group");
  plan = good;
  plan.height = 19;
  expect_fault(problem, plan, "buffer 2 ends above the height 19");
  plan = good;
  plan.lower_bound = 21;
  expect_fault(problem, plan, "the lower bound is above the height");
  plan = good;
  plan.witness = 1;
  expect_fault(problem, plan, "needs less than the lower bound");
}

TEST(OffsetsValidate, GroupsHoldTheirMemoryFromFirstToLast) {
  const OffsetProblem problem{{
      {.size = 8, .lower = 0, .upper = 1, .group = 0},
      {.size = 1, .lower = 5, .upper = 6, .group = 0},
      {.size = 1, .lower = 2, .upper = 3},
  }};
  expect_fault(problem, {.offsets = {0, 0, 7}, .height = 8}, "buffer 0 and buffer 2 overlap");
  EXPECT_EQ(validate(problem, {.offsets = {0, 0, 8}, .height = 9}), std::nullopt);
}

TEST(OffsetsValidate, GapsLeaveRoomForOthersButNotWhatTheyKeep) {
  const OffsetProblem problem{{
      {.size = 8,
       .lower = 0,
       .upper = 6,
       .gaps = {{.lower = 1, .upper = 3}, {.lower = 4, .upper = 6, .bottom = 0, .top = 2}}},
      {.size = 8, .lower = 1, .upper = 3},
      {.size = 6, .lower = 4, .upper = 5},
  }};
  EXPECT_EQ(validate(problem, {.offsets = {0, 0, 2}, .height = 8}), std::nullopt);
  expect_fault(problem, {.offsets = {0, 0, 1}, .height = 8}, "buffer 0 and buffer 2 overlap");
  OffsetProblem longer = problem;
  longer.buffers[1].upper = 4;
  expect_fault(longer, {.offsets = {0, 0, 2}, .height = 8}, "buffer 0 and buffer 1 overlap");
}

TEST(OffsetsValidate, RejectsEveryBuffersMoveOntoAnother) {
  Dice dice(21);
  for (int round = 0; round < 200; ++round) {
    const OffsetProblem problem = test::any_problem(dice, 20, 10, 9);
    const OffsetPlan plan = solve(problem, {.steps = 1'000});
    ASSERT_EQ(validate(problem, plan), std::nullopt);
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      for (std::size_t j = 0; j < problem.buffers.size(); ++j) {
        const Buffer& a = problem.buffers[i];
        const Buffer& b = problem.buffers[j];
        if (i == j || a.lower >= b.upper || b.lower >= a.upper) continue;
        OffsetPlan bad = plan;
        bad.offsets[i] = plan.offsets[j] + dice.roll(0, b.size - 1);
        bad.height += a.size + b.size;
        ASSERT_NE(validate(problem, bad), std::nullopt);
      }
    }
    OffsetPlan low = plan;
    --low.height;
    ASSERT_NE(validate(problem, low), std::nullopt);
  }
}

}  // namespace
}  // namespace tenure::planner
