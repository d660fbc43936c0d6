// What an executable tells recordings of itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tenure/graph/run/executable.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"

namespace tenure {
namespace {

using mem::PlannedProgram;

PlannedProgram described(std::unique_ptr<graph::Lowered> lowered, Plan& plan) {
  const graph::Executable executable(std::move(lowered), {});
  plan = executable.plan();
  return executable.program();
}

void expect_consistent(const PlannedProgram& program, const Plan& plan) {
  ASSERT_EQ(program.steps.size(), plan.steps.size());
  std::set<int> known;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const PlannedProgram::Step& step = program.steps[i];
    EXPECT_FALSE(step.op.empty());
    EXPECT_EQ(step.live, plan.steps[i].live);
    for (const int input : step.inputs) EXPECT_TRUE(known.contains(input)) << "step " << i;
    const bool is_again = !known.insert(step.unit).second;
    for (const PlannedProgram::Buffer& buffer : program.buffers) {
      if (buffer.first != static_cast<int>(i) || buffer.category == Category::workspace) continue;
      EXPECT_EQ(buffer.is_again, is_again) << "step " << i;
    }
  }
  // Units are numbered from 0 up.
  EXPECT_EQ(known.empty() ? 0 : *known.rbegin() + 1, static_cast<int>(known.size()));
  for (std::size_t i = 0; i < program.buffers.size(); ++i) {
    const PlannedProgram::Buffer& a = program.buffers[i];
    EXPECT_GE(a.first, 0);
    EXPECT_LE(a.first, a.last);
    EXPECT_LT(a.last, static_cast<int>(program.steps.size()));
    EXPECT_GT(a.bytes, 0);
    EXPECT_GE(a.offset, 0);
    EXPECT_LE(a.offset + a.bytes, plan.arena);
    for (std::size_t j = 0; j < i; ++j) {
      const PlannedProgram::Buffer& b = program.buffers[j];
      if (a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << "steps " << a.first << " and " << b.first;
    }
  }
}

TEST(Described, BuffersOfRandomProgramsLieApartAndStepsFindWhatTheyRead) {
  std::size_t buffers = 0;
  for (std::uint64_t seed = 0; seed < 120; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan;
    const PlannedProgram program = described(test::lowered_program(seed, seed % 2 == 0), plan);
    expect_consistent(program, plan);
    buffers += program.buffers.size();
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(buffers, 100u);
}

TEST(Described, WhatIsComputedTwiceIsTheSameUnit) {
  Plan plan;
  const PlannedProgram plain = described(test::deep_program(12), plan);
  expect_consistent(plain, plan);
  Plan tight;
  const PlannedProgram repeated = described(test::deep_program(12, {.recompute = 1.0}), tight);
  expect_consistent(repeated, tight);
  EXPECT_LT(tight.peak, plan.peak);
  EXPECT_GT(repeated.steps.size(), plain.steps.size());
  std::set<int> units;
  for (const PlannedProgram::Step& step : repeated.steps) units.insert(step.unit);
  EXPECT_EQ(units.size(), plain.steps.size());
}

}  // namespace
}  // namespace tenure
