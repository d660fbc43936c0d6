#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>
#include <string>

#include "tenure/planner/offsets.h"
#include "tests/planner/offsets_instances.h"
#include "tests/support/sanitized.h"

// Problems of the shapes and sizes that programs have.

namespace tenure::planner {
namespace {

using test::Dice;

OffsetPlan solve_and_validate(const OffsetProblem& problem, const OffsetOptions& options = {}) {
  OffsetPlan plan = solve(problem, options);
  EXPECT_EQ(validate(problem, plan), std::nullopt);
  return plan;
}

TEST(OffsetsFamilies, NestedLifetimesAreAStack) {
  OffsetProblem problem;
  for (int i = 0; i < 3'000; ++i)
    problem.buffers.push_back({.size = 64 + i % 7, .lower = i, .upper = 10'000 - i});
  const OffsetPlan plan = solve_and_validate(problem);
  EXPECT_TRUE(plan.optimal());
  EXPECT_EQ(plan.steps, 0);
}

TEST(OffsetsFamilies, CutRectanglesArePutTogetherAgain) {
  Dice dice(31);
  for (const int buffers : {20, 60, 150, 250}) {
    for (int round = 0; round < 4; ++round) {
      const OffsetProblem problem = test::cut_rectangle(dice, buffers, 512);
      const OffsetPlan plan =
          solve_and_validate(problem, {.seed = static_cast<std::uint64_t>(round)});
      EXPECT_EQ(plan.height, 512 * 1024) << buffers << " buffers, round " << round;
      EXPECT_EQ(solve_and_validate(test::disguised(dice, problem)).height, 512 * 1024);
    }
  }
}

TEST(OffsetsFamilies, TrainingStepsComeCloseToTheBound) {
  Dice dice(32);
  for (const int buffers : {5'000, 20'000}) {
    if (tenure::test::kSanitized && buffers > 5'000) continue;
    const OffsetProblem problem = test::training_step(dice, buffers);
    const OffsetPlan plan = solve_and_validate(problem, {.steps = 200'000});
    EXPECT_LE(static_cast<double>(plan.height), 1.005 * static_cast<double>(plan.lower_bound));
    const OffsetPlan other = solve_and_validate(test::disguised(dice, problem), {.steps = 200'000});
    EXPECT_EQ(other.lower_bound, plan.lower_bound);
    EXPECT_LE(static_cast<double>(other.height), 1.005 * static_cast<double>(plan.lower_bound));
  }
}

/// The textbook: each buffer into the tightest hole between those that were placed before it.
std::int64_t best_fit(const OffsetProblem& problem,
                      const std::function<double(const Buffer&)>& key) {
  std::vector<std::size_t> order(problem.buffers.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return key(problem.buffers[a]) > key(problem.buffers[b]);
  });
  std::multimap<std::int64_t, std::size_t> placed;
  std::int64_t height = 0;
  for (const std::size_t i : order) {
    const Buffer& buffer = problem.buffers[i];
    std::int64_t level = 0;
    std::int64_t found = -1;
    std::int64_t waste = std::numeric_limits<std::int64_t>::max();
    for (const auto& [offset, j] : placed) {
      const Buffer& other = problem.buffers[j];
      if (other.upper <= buffer.lower || buffer.upper <= other.lower) continue;
      if (offset - level >= buffer.size && offset - level - buffer.size < waste) {
        found = level;
        waste = offset - level - buffer.size;
      }
      level = std::max(level, offset + other.size);
    }
    if (found < 0) found = level;
    placed.emplace(found, i);
    height = std::max(height, found + buffer.size);
  }
  return height;
}

TEST(OffsetsFamilies, LargeProblemsAreNoHigherThanTheTextbooks) {
  Dice dice(38);
  OffsetProblem problem = test::any_problem(dice, 4'500, 20'000, 1'000'000);
  const auto length = [](const Buffer& buffer) {
    return static_cast<double>(buffer.upper - buffer.lower);
  };
  const auto size = [](const Buffer& buffer) { return static_cast<double>(buffer.size); };
  const std::int64_t height = solve_and_validate(problem, {.steps = 100'000}).height;
  EXPECT_LE(height, best_fit(problem, size));
  EXPECT_LE(height, best_fit(problem, [&](const Buffer& b) { return size(b) * length(b); }));
  EXPECT_LE(height, best_fit(problem, length));
}

TEST(OffsetsFamilies, LargeProblemsWithGivenOffsets) {
  Dice dice(33);
  OffsetProblem problem = test::training_step(dice, 10'000);
  problem.buffers[5].offset = 0;
  problem.buffers[7'000].offset = 1 << 30;
  solve_and_validate(problem);
}

TEST(OffsetsFamilies, ManySmallParts) {
  Dice dice(34);
  OffsetProblem problem;
  for (int part = 0; part < 1'000; ++part) {
    for (Buffer buffer : test::any_problem(dice, 20, 10, 64).buffers) {
      buffer.lower += 10 * part;
      buffer.upper += 10 * part;
      problem.buffers.push_back(buffer);
    }
  }
  EXPECT_TRUE(solve_and_validate(problem).optimal());
}

TEST(OffsetsFamilies, AMillionBuffers) {
  Dice dice(35);
  OffsetProblem problem = test::training_step(dice, 1'000'000);
  const OffsetPlan plan = solve(problem, {.steps = 0});
  EXPECT_LE(static_cast<double>(plan.height), 1.05 * static_cast<double>(plan.lower_bound));
  // All pairs would be too many: every 97th buffer is looked at.
  const auto count = static_cast<std::int64_t>(problem.buffers.size());
  OffsetProblem some;
  OffsetPlan offsets{.height = plan.height};
  for (std::int64_t i = 0; i < count; i += 97) {
    some.buffers.push_back(problem.buffers[static_cast<std::size_t>(i)]);
    offsets.offsets.push_back(plan.offsets[static_cast<std::size_t>(i)]);
  }
  EXPECT_EQ(validate(some, offsets), std::nullopt);
}

TEST(OffsetsFamilies, AMillionBuffersAtOnce) {
  OffsetProblem problem;
  for (int i = 0; i < 1'000'000; ++i) problem.buffers.push_back({.size = 3, .upper = 1});
  const OffsetPlan plan = solve(problem);
  EXPECT_EQ(plan.height, 3'000'000);
  EXPECT_TRUE(plan.optimal());
}

TEST(OffsetsFamilies, AMillionBuffersOneAfterTheOther) {
  OffsetProblem problem;
  for (int i = 0; i < 1'000'000; ++i)
    problem.buffers.push_back({.size = i % 100, .lower = i, .upper = i + 1, .alignment = 8});
  const OffsetPlan plan = solve(problem);
  EXPECT_EQ(plan.height, 99);
  EXPECT_TRUE(plan.optimal());
}

TEST(OffsetsFamilies, ManyBuffersWithAGivenOffset) {
  Dice dice(37);
  OffsetProblem problem = test::training_step(dice, 200'000);
  problem.buffers.front().offset = 256;
  const OffsetPlan plan = solve(problem);
  EXPECT_EQ(plan.offsets.front(), 256);
  EXPECT_GE(plan.height, plan.lower_bound);
}

OffsetProblem read(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  EXPECT_EQ(line, "id,lower,upper,size") << path;
  OffsetProblem problem;
  while (std::getline(file, line)) {
    std::istringstream fields(line);
    char comma = 0;
    std::int64_t id = 0;
    Buffer buffer;
    fields >> id >> comma >> buffer.lower >> comma >> buffer.upper >> comma >> buffer.size;
    problem.buffers.push_back(buffer);
  }
  return problem;
}

TEST(OffsetsFamilies, SharedInstances) {
  const char* const folder = std::getenv("TENURE_PLANNER_DATA");
  if (folder == nullptr) {
    std::cout << "TENURE_PLANNER_DATA names no folder: nothing to solve\n";
    return;
  }
  Dice dice(36);
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(folder) / "minimalloc")) {
    // NAME.CAPACITY.csv
    const std::int64_t capacity = std::stoll(entry.path().stem().extension().string().substr(1));
    const OffsetProblem problem = read(entry.path());
    EXPECT_LE(solve_and_validate(problem, {.capacity = capacity}).height, capacity) << entry.path();
    EXPECT_LE(solve_and_validate(test::disguised(dice, problem), {.capacity = capacity}).height,
              capacity)
        << entry.path();
  }
}

}  // namespace
}  // namespace tenure::planner
