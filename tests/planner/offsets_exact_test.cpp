#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <utility>
#include <vector>

#include "tenure/planner/offsets.h"
#include "tenure/planner/offsets/instance.h"
#include "tenure/planner/offsets/search.h"
#include "tests/planner/offsets_instances.h"
#include "tests/support/sanitized.h"

// Small problems, where trying every offset of every buffer tells the least height.

namespace tenure::planner {
namespace {

using test::Dice;

/// What of a buffer, from its beginning, is needed at a time.
std::pair<std::int64_t, std::int64_t> needed_at(const Buffer& buffer, std::int64_t time) {
  for (const Gap& gap : buffer.gaps) {
    if (gap.lower <= time && time < gap.upper) return {gap.bottom, gap.top};
  }
  return {0, buffer.size};
}

bool overlap(const Buffer& a, std::int64_t a_offset, const Buffer& b, std::int64_t b_offset) {
  for (std::int64_t t = std::max(a.lower, b.lower); t < std::min(a.upper, b.upper); ++t) {
    const auto [a_low, a_top] = needed_at(a, t);
    const auto [b_low, b_top] = needed_at(b, t);
    if (a_low < a_top && b_low < b_top && a_offset + a_low < b_offset + b_top &&
        b_offset + b_low < a_offset + a_top)
      return true;
  }
  return false;
}

/// Buffers 0 to i - 1 have offsets; is there one for each of the others?
bool fits(const std::vector<Buffer>& buffers, std::vector<std::int64_t>& offsets, std::size_t i,
          std::int64_t height) {
  if (i == buffers.size()) return true;
  const Buffer& buffer = buffers[i];
  for (std::int64_t offset = 0; offset + buffer.size <= height; offset += buffer.alignment) {
    if (buffer.offset && offset != *buffer.offset) continue;
    const bool is_free = [&] {
      for (std::size_t j = 0; j < i; ++j) {
        if (overlap(buffer, offset, buffers[j], offsets[j])) return false;
      }
      return true;
    }();
    if (!is_free) continue;
    offsets[i] = offset;
    if (fits(buffers, offsets, i + 1, height)) return true;
  }
  return false;
}

std::int64_t least_height(const OffsetProblem& problem) {
  std::vector<Buffer> buffers = problem.buffers;
  // Neighbours in time come one after the other: what does not fit shows early.
  std::stable_sort(buffers.begin(), buffers.end(),
                   [](const Buffer& a, const Buffer& b) { return a.lower < b.lower; });
  std::int64_t height = 0;
  for (const Buffer& at : buffers) {
    std::int64_t live = 0;
    for (const Buffer& buffer : buffers) {
      if (at.lower < buffer.lower || at.lower >= buffer.upper) continue;
      const auto [low, top] = needed_at(buffer, at.lower);
      live += top - low;
    }
    height = std::max(height, live);
  }
  std::vector<std::int64_t> offsets(buffers.size());
  while (!fits(buffers, offsets, 0, height)) ++height;
  return height;
}

void expect_least(const OffsetProblem& problem) {
  const OffsetPlan plan = solve(problem);
  ASSERT_EQ(validate(problem, plan), std::nullopt);
  ASSERT_EQ(plan.height, least_height(problem));
}

TEST(OffsetsExact, EverySmallProblem) {
  // All sets of up to five buffers of two sizes with lifetimes among four points in time.
  std::vector<Buffer> kinds;
  for (int lower = 0; lower < 3; ++lower) {
    for (int upper = lower + 1; upper <= 3; ++upper) {
      for (const int size : {2, 3}) kinds.push_back({.size = size, .lower = lower, .upper = upper});
    }
  }
  OffsetProblem problem;
  const std::function<void(std::size_t)> extend = [&](std::size_t first) {
    expect_least(problem);
    if (problem.buffers.size() == 5) return;
    for (std::size_t kind = first; kind < kinds.size() && !testing::Test::HasFailure(); ++kind) {
      problem.buffers.push_back(kinds[kind]);
      extend(kind);
      problem.buffers.pop_back();
    }
  };
  extend(0);
}

TEST(OffsetsExact, RandomProblems) {
  Dice dice(11);
  for (int round = 0; round < 2'000 && !HasFailure(); ++round) {
    expect_least(test::any_problem(dice, static_cast<int>(dice.roll(1, 8)),
                                   static_cast<int>(dice.roll(2, 8)),
                                   static_cast<int>(dice.roll(1, 4))));
  }
}

/// Some alignments, some offsets that do not collide.
OffsetProblem constrained(Dice& dice) {
  OffsetProblem problem = test::any_problem(dice, static_cast<int>(dice.roll(2, 6)), 6, 5);
  for (Buffer& buffer : problem.buffers) {
    if (dice.chance(40)) buffer.alignment = std::int64_t{1} << dice.roll(0, 3);
  }
  std::vector<Buffer> placed;
  for (Buffer& buffer : problem.buffers) {
    if (!dice.chance(30)) continue;
    buffer.offset = dice.roll(0, 8) / buffer.alignment * buffer.alignment;
    placed.push_back(buffer);
    std::vector<std::int64_t> offsets(placed.size());
    if (fits(placed, offsets, 0, 100)) continue;
    placed.pop_back();
    buffer.offset.reset();
  }
  return problem;
}

/// The same without a rest in the last multiple of any alignment.
OffsetProblem constrained_to_multiples(Dice& dice) {
  for (;;) {
    OffsetProblem problem = constrained(dice);
    for (Buffer& buffer : problem.buffers) buffer.size += -buffer.size & (buffer.alignment - 1);
    std::vector<Buffer> placed;
    for (const Buffer& buffer : problem.buffers) {
      if (buffer.offset) placed.push_back(buffer);
    }
    std::vector<std::int64_t> offsets(placed.size());
    if (fits(placed, offsets, 0, 100)) return problem;
  }
}

TEST(OffsetsExact, RandomProblemsWithAlignmentsAndGivenOffsets) {
  Dice dice(12);
  for (int round = 0; round < 2'000 && !HasFailure(); ++round)
    expect_least(constrained_to_multiples(dice));
}

TEST(OffsetsExact, RestOfTheLeastAlignmentMayBeMissed) {
  Dice dice(18);
  for (int round = 0; round < 2'000 && !HasFailure(); ++round) {
    const OffsetProblem problem = constrained(dice);
    std::int64_t alignment = 8;
    for (const Buffer& buffer : problem.buffers) alignment = std::min(alignment, buffer.alignment);
    const OffsetPlan plan = solve(problem);
    ASSERT_EQ(validate(problem, plan), std::nullopt);
    const std::int64_t least = least_height(problem);
    ASSERT_GE(plan.height, least);
    ASSERT_LT(plan.height, least + alignment);
    ASSERT_LE(plan.lower_bound, least);
  }
}

TEST(OffsetsExact, GroupsAreTheirHulls) {
  Dice dice(13);
  for (int round = 0; round < 500 && !HasFailure(); ++round) {
    OffsetProblem whole = test::any_problem(dice, 5, 6, 4);
    OffsetProblem parts;
    for (std::size_t i = 0; i < whole.buffers.size(); ++i) {
      const Buffer& hull = whole.buffers[i];
      if (dice.chance(40)) {
        parts.buffers.push_back(hull);
        continue;
      }
      const int group = static_cast<int>(i);
      parts.buffers.push_back(
          {.size = hull.size, .lower = hull.lower, .upper = hull.lower + 1, .group = group});
      parts.buffers.push_back({.size = dice.roll(0, hull.size),
                               .lower = hull.upper - 1,
                               .upper = hull.upper,
                               .group = group});
    }
    const OffsetPlan plan = solve(parts);
    ASSERT_EQ(validate(parts, plan), std::nullopt);
    ASSERT_EQ(plan.height, least_height(whole));
  }
}

TEST(OffsetsExact, GapsAreUsedAndNeverMisused) {
  Dice dice(19);
  int used = 0;
  for (int round = 0; round < tenure::test::rounds(600) && !HasFailure(); ++round) {
    OffsetProblem problem = test::any_problem(dice, static_cast<int>(dice.roll(2, 6)), 6, 4);
    OffsetProblem filled = problem;
    for (Buffer& buffer : problem.buffers) {
      std::int64_t now = buffer.lower;
      while (now < buffer.upper && dice.chance(60)) {
        Gap gap{.lower = dice.roll(now, buffer.upper - 1), .upper = 0};
        gap.upper = dice.roll(gap.lower, buffer.upper);
        if (dice.chance(60)) {
          gap.bottom = dice.roll(0, buffer.size);
          gap.top = dice.roll(gap.bottom, buffer.size);
        }
        buffer.gaps.push_back(gap);
        now = gap.upper;
      }
    }
    const OffsetPlan plan = solve(problem, {.steps = 20'000});
    ASSERT_EQ(validate(problem, plan), std::nullopt);
    for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        ASSERT_FALSE(
            overlap(problem.buffers[i], plan.offsets[i], problem.buffers[j], plan.offsets[j]));
      }
    }
    const std::int64_t least = least_height(problem);
    ASSERT_GE(plan.height, least);
    ASSERT_LE(plan.lower_bound, least);
    const std::int64_t without = least_height(filled);
    ASSERT_LE(plan.height, without);
    used += plan.height < without ? 1 : 0;
  }
  EXPECT_GT(used, tenure::test::rounds(50));
}

/// At every capacity, the search finds a packing where one exists, and knows where none does.
void expect_exact_search(const OffsetProblem& problem, int& impossible) {
  const std::int64_t least = least_height(problem);
  const offsets::Prepared prepared = offsets::prepare(problem);
  ASSERT_EQ(prepared.padding, 0);
  offsets::Units height = 0;
  for (const offsets::Instance& part : prepared.parts) {
    offsets::Search search(part);
    offsets::Units capacity = std::max<offsets::Units>(0, part.bound - 1);
    for (;; ++capacity) {
      search.set_capacity(capacity);
      const auto outcome = search.run(1'000'000, 0, [] { return false; });
      ASSERT_NE(outcome, offsets::Search::Outcome::cut_off);
      if (outcome == offsets::Search::Outcome::found) break;
      if (capacity >= part.bound) ++impossible;
    }
    ASSERT_LE(offsets::height_of(part, search.offsets()), capacity);
    height = std::max(height, capacity);
  }
  ASSERT_EQ(height * prepared.unit, least);
}

TEST(OffsetsExact, SearchAloneIsExact) {
  Dice dice(14);
  int impossible = 0;
  for (int round = 0; round < 1'000 && !HasFailure(); ++round) {
    const int buffers = static_cast<int>(dice.roll(5, 9));
    expect_exact_search(test::filled_problem(dice, buffers, 8, 3), impossible);
  }
  EXPECT_GT(impossible, 100) << "few least heights were above their bound";
}

TEST(OffsetsExact, SearchAloneIsExactUnderConstraints) {
  Dice dice(15);
  int impossible = 0;
  for (int round = 0; round < 2'000 && !HasFailure(); ++round)
    expect_exact_search(constrained_to_multiples(dice), impossible);
  EXPECT_GT(impossible, 100);
}

TEST(OffsetsExact, FilledProblems) {
  Dice dice(16);
  int above = 0;
  for (int round = 0; round < 1'000 && !HasFailure(); ++round) {
    const OffsetProblem problem =
        test::filled_problem(dice, static_cast<int>(dice.roll(5, 9)), 8, 3);
    expect_least(problem);
    const OffsetPlan plan = solve(problem);
    ASSERT_TRUE(plan.optimal());
    above += plan.witness ? 0 : 1;
  }
  EXPECT_GT(above, 50) << "few least heights were proven by search";
}

}  // namespace
}  // namespace tenure::planner
