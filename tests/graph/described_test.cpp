// What an executable tells recordings of itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <set>

#include "tenure/base/units.h"
#include "tenure/graph/run/executable.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"
#include "tests/support/sanitized.h"

namespace tenure {
namespace {

using mem::PlannedProgram;

PlannedProgram described(std::unique_ptr<graph::Lowered> lowered, Plan& plan) {
  const graph::Executable executable(std::move(lowered), {});
  plan = executable.plan();
  return executable.program();
}

/// Of a program, or of a body with an arena of that size.
void expect_consistent(const PlannedProgram& program, std::int64_t arena) {
  std::set<int> known;
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    const PlannedProgram::Step& step = program.steps[i];
    EXPECT_FALSE(step.op.empty());
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
    EXPECT_LE(a.offset + a.bytes, arena);
    for (std::size_t j = 0; j < i; ++j) {
      const PlannedProgram::Buffer& b = program.buffers[j];
      if (a.last < b.first || b.last < a.first) continue;
      EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset)
          << "steps " << a.first << " and " << b.first;
    }
  }
}

void expect_consistent(const PlannedProgram& program, const Plan& plan) {
  ASSERT_EQ(program.steps.size(), plan.steps.size());
  for (std::size_t i = 0; i < program.steps.size(); ++i) {
    EXPECT_EQ(program.steps[i].live, plan.steps[i].live);
  }
  expect_consistent(program, plan.arena);
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
  const int layers = test::kSanitized ? 6 : 12;
  Plan plan;
  const PlannedProgram plain = described(test::deep_program(layers), plan);
  expect_consistent(plain, plan);
  Plan tight;
  const PlannedProgram repeated = described(test::deep_program(layers, {.recompute = 1.0}), tight);
  expect_consistent(repeated, tight);
  EXPECT_LT(tight.peak, plan.peak);
  EXPECT_GT(repeated.steps.size(), plain.steps.size());
  std::set<int> units;
  for (const PlannedProgram::Step& step : repeated.steps) units.insert(step.unit);
  EXPECT_EQ(units.size(), plain.steps.size());
}

/// Nested branches and loops at random, on matrices of 8 x 8.
class RandomControl {
 public:
  explicit RandomControl(std::uint64_t seed) : random_(seed) {}

  Tensor operator()(Tensor x, int depth) {
    const int n = 1 + draw(3);
    for (int i = 0; i < n; ++i) x = step(std::move(x), depth);
    return x;
  }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<unsigned>(below)); }

  Tensor step(Tensor x, int depth) {
    switch (draw(depth == 0 ? 3 : 6)) {
      case 0:
        return matmul(x, tanh(x));
      case 1:
        return cumsum(transpose(x, 0, 1), 0) * 0.1;
      case 2:
        return softmax(matmul(x, x) + x, -1);
      case 3:
        return cond(
            sum(x) > 0, [&](const Tensor& t) { return (*this)(t, depth - 1); },
            [&](const Tensor& t) { return (*this)(t, depth - 1); },
            draw(2) == 0 ? x : transpose(x, 0, 1));
      case 4:
        return while_loop([](const Tensor& t) { return sum(matmul(t, t)) > 1; },
                          [&](const Tensor& t) { return (*this)(t, depth - 1) * 0.5; }, x, 3);
      default:
        return scan(
                   [&](const Tensor& carry, const Tensor& row) {
                     Tensor next = (*this)(carry + row, depth - 1);
                     return std::pair(next, sum(next, {0}));
                   },
                   x, matmul(x, x))
            .first;
    }
  }

  std::mt19937_64 random_;
};

struct Range {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Checks a program whose arena begins at `base` within what is live around it, and all that is
/// inside it. Returns how far it reaches.
std::int64_t expect_apart(const PlannedProgram& program, std::int64_t base,
                          const std::vector<Range>& around, int& bodies) {
  std::int64_t end = 0;
  for (std::size_t s = 0; s < program.steps.size(); ++s) {
    const int step = static_cast<int>(s);
    std::vector<Range> live = around;
    std::int64_t first = std::numeric_limits<std::int64_t>::max();  // of the workspace
    std::int64_t reached = 0;
    for (const PlannedProgram::Buffer& buffer : program.buffers) {
      if (buffer.first > step || buffer.last < step) continue;
      const Range mine{base + buffer.offset, base + buffer.offset + buffer.bytes};
      for (const Range& other : live) {
        EXPECT_TRUE(mine.end <= other.begin || other.end <= mine.begin) << program.steps[s].op;
      }
      live.push_back(mine);
      end = std::max(end, buffer.offset + buffer.bytes);
      if (buffer.role.empty()) continue;
      first = std::min(first, buffer.offset);
      reached = std::max(reached, buffer.offset + buffer.bytes);
    }
    bool has_bodies = false;
    for (const mem::PlannedBody& body : program.bodies) {
      if (body.step != step) continue;
      has_bodies = true;
      ++bodies;
      EXPECT_FALSE(body.name.empty());
      EXPECT_FALSE(body.program.steps.empty() && !body.program.buffers.empty());
      const std::int64_t inside = expect_apart(body.program, base + body.offset, live, bodies);
      expect_consistent(body.program, inside);
      first = std::min(first, body.offset);
      reached = std::max(reached, body.offset + inside);
    }
    end = std::max(end, reached);
    const std::int64_t claimed = program.steps[s].workspace;
    if (has_bodies) {
      EXPECT_EQ(static_cast<std::int64_t>(round_up(std::size_t(reached - first), 64)), claimed)
          << program.steps[s].op << ", step " << s;
    }
  }
  return end;
}

TEST(Described, WhatIsInBodiesCoversTheWorkspaceAndLiesApart) {
  int bodies = 0;
  int nested = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    Plan plan;
    const PlannedProgram program =
        described(test::lower_ops({{DType::float32, Shape({8, 8})}},
                                  [&](const std::vector<Tensor>& in) {
                                    return std::vector<Tensor>{RandomControl(seed)(in[0], 2)};
                                  }),
                  plan);
    expect_consistent(program, plan);
    const std::int64_t end = expect_apart(program, 0, {}, bodies);
    EXPECT_EQ(static_cast<std::int64_t>(round_up(std::size_t(end), 64)), plan.arena);
    for (const mem::PlannedBody& body : program.bodies) {
      nested += static_cast<int>(body.program.bodies.size());
    }
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(bodies, 60);
  EXPECT_GT(nested, 20);
}

}  // namespace
}  // namespace tenure
