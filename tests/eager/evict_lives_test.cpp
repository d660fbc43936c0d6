#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/eager/evict_setting.h"
#include "tests/support/expect.h"
#include "tests/support/same_bits.h"
#include "tests/support/sanitized.h"
#include "tests/support/share.h"

// Budgets that evict, while scopes, loops, tapes, threads and processes come and go.

namespace tenure {
namespace {

using test::expect_same_bits;
using test::kEvict;
using test::kOne;
using test::kSide;
using test::numbers;
using test::on_threads;
using test::row_of;
using test::squeeze;

TEST(Evict, ScopesEndWhatTheyMade) {
  const Tensor x = numbers(0);
  const MemoryStats before = memory();
  {
    const Budget budget("tidy", 4 * kOne, kEvict);
    const Tensor kept = tidy([&] {
      std::vector<Tensor> row = row_of(x, 6);
      return row.back();
    });
    squeeze(budget);
    expect_same_bits(kept, row_of(x, 6).back());
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().storages, before.storages);
  EXPECT_EQ(memory().tensors, before.tensors);
}

TEST(Evict, ALongRowIsComputedWithoutEnd) {
  constexpr int kLong = test::rounds(100'000);
  const Tensor x = zeros({9000});
  const Budget budget("row", 40 * 36'000, kEvict);
  std::vector<Tensor> row{x};
  row.reserve(kLong + 1);
  for (int i = 0; i < kLong; ++i) row.push_back(row.back() + 1);
  squeeze(budget);
  EXPECT_EQ(row.back().to_vector<float>().back(), kLong);
  EXPECT_LE(budget.peak(), budget.limit());
}

TEST(Evict, ALoopDoesNotGrow) {
  const Tensor w = numbers(3);
  const Budget budget("loop", 4 * kOne, kEvict);
  Tensor state = numbers(0) + 0;
  LeakGuard guard("recipes");
  for (int i = 0; i < 600; ++i) {
    state = tanh(state * w);
    guard.mark();
  }
  EXPECT_LE(budget.peak(), budget.limit());
}

TEST(Evict, ATapeFits) {
  const auto step = [](const std::vector<Variable>& weights, const Tensor& x) {
    GradientTape tape;
    Tensor h = x;
    for (const Variable& w : weights) h = tanh(matmul(h, w.value()));
    std::vector<Tensor> gradients = tape.gradient(mean(square(h)), weights);
    return gradients;
  };
  seed(4);
  std::vector<Variable> weights;
  for (int i = 0; i < 8; ++i) weights.emplace_back(normal({64, 64}, 0, 0.1));
  const Tensor x = normal({1024, 64});
  std::size_t peak = 0;
  std::vector<Tensor> plain;
  {
    const Budget budget("plain", kNoLimit);
    plain = step(weights, x);
    peak = budget.peak();
  }
  for (const int percent : {100, 60, 40}) {
    const Budget budget("tight", peak * static_cast<std::size_t>(percent) / 100, kEvict);
    const std::vector<Tensor> gradients = step(weights, x);
    for (std::size_t i = 0; i < plain.size(); ++i) expect_same_bits(gradients[i], plain[i]);
    EXPECT_LE(budget.peak(), budget.limit());
  }
}

TEST(Evict, BudgetsInsideEvictToo) {
  const Tensor x = numbers(0);
  const Budget outer("outer", 5 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 3);
  {
    const Budget inner("inner", 3 * kOne);
    const std::vector<Tensor> more = row_of(x, 8);
    EXPECT_LE(inner.peak(), inner.limit());
    for (std::size_t i = 0; i < row.size(); ++i) expect_same_bits(more[i], row[i]);
  }
  EXPECT_LE(outer.peak(), outer.limit());
}

TEST(Evict, ResultsOutliveTheBudget) {
  const Tensor x = numbers(0);
  const std::vector<Tensor> plain = row_of(x, 6);
  std::vector<Tensor> row;
  {
    const Budget budget("short", 3 * kOne, kEvict);
    row = row_of(x, 6);
  }
  for (std::size_t i = 0; i < row.size(); ++i) expect_same_bits(row[i], plain[i]);
}

TEST(Evict, AFaultInTheMiddleLosesNothing) {
  const Tensor x = numbers(0);
  const std::vector<Tensor> plain = row_of(x, 4);
  const Budget budget("faults", 8 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 4);
  int faults = 0;
  for (int n = 1; n < 100; ++n) {
    squeeze(budget);
    try {
      const FaultInjection fault(n);
      static_cast<void>(row.back().to_vector<float>());
      if (!fault.fired()) break;
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.cause(), OutOfMemory::Cause::injected);
      ++faults;
    }
    for (std::size_t i = 0; i < row.size(); ++i) expect_same_bits(row[i], plain[i]);
  }
  EXPECT_GE(faults, 4);
}

TEST(Evict, ThreadsShareResults) {
  const Tensor x = numbers(0);
  const std::vector<Tensor> plain = row_of(x, 10);
  const Budget budget("shared", 8 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 10);
  std::atomic<int> wrong{0};
  on_threads(4, [&](int thread) {
    std::optional<Budget::Enter> enter;
    if (thread % 2 == 0) enter.emplace(budget);
    test::Random random(static_cast<std::uint64_t>(thread) + 1);
    for (int i = 0; i < 60; ++i) {
      try {
        const auto place = static_cast<std::size_t>(random.below(11));
        const Tensor y = row[place] + 1;
        const Tensor copy = row[place];
        const float got = sum(y - copy).item<float>();
        const float expected = sum(plain[place] + 1 - plain[place]).item<float>();
        if (got != expected) ++wrong;
      } catch (const OutOfMemory&) {  // all that is there is in use just now
      }
    }
  });
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(budget.peak(), budget.limit());
  for (std::size_t i = 0; i < row.size(); ++i) expect_same_bits(row[i], plain[i]);
}

TEST(Evict, ThreadsEndWhatOthersAreComputedFrom) {
  constexpr int kMost = 50;
  const Tensor x = full({kSide, kSide}, 0.5);
  std::vector<float> expected{0.5f};  // of x multiplied so often
  for (int i = 0; i <= kMost; ++i) expected.push_back(expected.back() * 1.03125f);
  const MemoryStats before = memory();
  {
    const Budget budget("shared", 14 * kOne, kEvict);
    std::mutex mutex;
    std::vector<std::pair<std::size_t, Tensor>> shared(12, {0, x});
    std::atomic<int> wrong{0};
    on_threads(4, [&](int thread) {
      std::optional<Budget::Enter> enter;
      if (thread != 3) enter.emplace(budget);
      test::Random random(static_cast<std::uint64_t>(thread) + 5);
      for (int i = 0; i < test::rounds(6000); ++i) {
        const auto any = [&] { return static_cast<std::size_t>(random.below(12)); };
        std::pair<std::size_t, Tensor> from;
        {
          const std::lock_guard lock(mutex);
          from = shared[any()];
        }
        if (from.first == kMost) from = {0, x};
        try {
          if (i % 3 == 0 && from.second.to_vector<float>()[7] != expected[from.first]) ++wrong;
          std::pair<std::size_t, Tensor> next{from.first + 1, from.second * 1.03125};
          from.second = Tensor();
          const std::lock_guard lock(mutex);
          std::swap(shared[any()], next);
        } catch (const OutOfMemory&) {  // all that is there is in use just now
        }
      }
    });
    EXPECT_EQ(wrong, 0);
    EXPECT_LE(budget.peak(), budget.limit());
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().storages, before.storages);
  EXPECT_EQ(memory().evicted_bytes, before.evicted_bytes);
}

TEST(Fork, AChildComputesWhatWasEvicted) {
  const Tensor x = numbers(0);
  const Budget budget("parent", 4 * kOne, kEvict);
  const Tensor y = row_of(x, 3).back();
  const std::vector<float> expected = y.to_vector<float>();
  squeeze(budget);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(y.to_vector<float>() == expected ? 7 : 8);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  EXPECT_EQ(y.to_vector<float>(), expected);
}

TEST(Evict, WhatIsGivenUpCanBeDisposed) {
  const Tensor x = numbers(0);
  const MemoryStats before = memory();
  const Budget budget("dispose", 4 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 3);
  squeeze(budget);
  row[2].dispose();
  EXPECT_TRUE(row[2].is_disposed());
  EXPECT_THROW(static_cast<void>(row[2] + 1), DisposedError);
  expect_same_bits(row[3], row_of(x, 3).back());
  row[3].dispose();
  row[1].dispose();
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_EQ(memory().evicted_bytes, before.evicted_bytes);
}

}  // namespace
}  // namespace tenure
