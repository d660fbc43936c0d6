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
#include "tests/support/expect.h"
#include "tests/support/same_bits.h"
#include "tests/support/sanitized.h"
#include "tests/support/share.h"

// Budgets that evict: what may be given up, what must not, and that nobody can tell but by the
// ledger.

namespace tenure {
namespace {

using test::expect_same_bits;
using test::on_threads;

constexpr std::int64_t kSide = 128;
constexpr std::size_t kOne = kSide * kSide * sizeof(float);  // more than what is small

constexpr Budget::Options kEvict{.evict = true};

Tensor numbers(std::int64_t first) {
  return reshape(arange(first, first + kSide * kSide), {kSide, kSide}) * 0.001;
}

/// From the host: nothing can compute it again.
Tensor from_host(float value) {
  return reshape(tensor(std::vector<float>(kSide * kSide, value)), {kSide, kSide});
}

/// A row of results, each from the one before.
std::vector<Tensor> row_of(Tensor x, int n) {
  std::vector<Tensor> row{std::move(x)};
  for (int i = 0; i < n; ++i) row.push_back(tanh(row.back() * 1.5 + 0.25));
  return row;
}

/// Takes all the room that a budget has, so that everything that can goes.
void squeeze(const Budget& budget) {
  std::size_t bytes = budget.limit();
  while (bytes > 0) {
    try {
      const Tensor all = test::room(static_cast<std::int64_t>(bytes));
      return;
    } catch (const OutOfMemory&) {
      bytes -= std::min<std::size_t>(bytes, kOne);
    }
  }
}

TEST(Evict, FitsWhereItDidNot) {
  const Tensor x = numbers(0);
  const std::vector<Tensor> plain = row_of(x, 12);
  const auto within = [&](Budget::Options options) {
    const Budget budget("row", 5 * kOne, options);
    const std::vector<Tensor> row = row_of(x, 12);
    for (std::size_t i = row.size(); i-- > 0;) expect_same_bits(row[i], plain[i]);
    EXPECT_LE(budget.peak(), budget.limit());
  };
  EXPECT_THROW(within({}), OutOfMemory);
  const MemoryStats before = memory();
  within(kEvict);
  const MemoryStats after = memory();
  EXPECT_GT(after.evictions, before.evictions + 7);
  EXPECT_GT(after.recomputations, before.recomputations + 7);
  EXPECT_EQ(after.evicted_bytes, before.evicted_bytes);
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.storages, before.storages);
  EXPECT_EQ(after.tensors, before.tensors);
}

TEST(Evict, TheLedgerTellsWhatIsGivenUp) {
  const Tensor x = numbers(0);
  const MemoryStats before = memory();
  const Budget budget("row", 6 * kOne, kEvict);
  const std::vector<Tensor> row = row_of(x, 5);
  EXPECT_EQ(memory().evicted_bytes, before.evicted_bytes);
  squeeze(budget);
  const MemoryStats squeezed = memory();
  EXPECT_EQ(squeezed.evicted_bytes - before.evicted_bytes, static_cast<std::int64_t>(5 * kOne));
  EXPECT_EQ(squeezed.bytes, before.bytes);
  EXPECT_EQ(squeezed.storages, before.storages) << "what has no data is no buffer";
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_NE(to_string(squeezed).find("evictions"), std::string::npos);
  EXPECT_FALSE(row[3].is_disposed());
  EXPECT_EQ(row[3].to_vector<float>().size(), static_cast<std::size_t>(kSide * kSide));
  EXPECT_GE(memory().recomputations, before.recomputations + 3);
}

TEST(Evict, ARecordingTellsIt) {
  const Tensor x = numbers(0);
  const Recording recording;
  {
    const Budget budget("row", 6 * kOne, kEvict);
    const std::vector<Tensor> row = row_of(x, 4);
    squeeze(budget);
    static_cast<void>(row.back().to_vector<float>());
  }
  std::int64_t level = 0;
  std::int64_t evictions = 0;
  std::int64_t recomputations = 0;
  for (const MemoryEvent& event : recording.events()) {
    using Kind = MemoryEvent::Kind;
    if (event.kind == Kind::allocate || event.kind == Kind::recompute) level += event.bytes;
    if (event.kind == Kind::free || event.kind == Kind::evict) level -= event.bytes;
    evictions += event.kind == Kind::evict;
    recomputations += event.kind == Kind::recompute;
    EXPECT_GE(level, 0);
    EXPECT_LE(level, static_cast<std::int64_t>(6 * kOne));
  }
  EXPECT_GE(evictions, 4);
  EXPECT_GE(recomputations, 4);
}

TEST(Evict, RefusesWhatCannotBe) {
  const Tensor x = numbers(0);
  const Budget budget("small", 2 * kOne, kEvict);
  const Tensor a = x + 1;
  const Tensor b = x + 2;
  // Both are needed at once, and a third.
  test::expect_throws<OutOfMemory>([&] { static_cast<void>(a + b); },
                                   {"budget \"small\"", "largest live"});
  expect_same_bits(a, x + 1);
  expect_same_bits(b, x + 2);
  EXPECT_THROW(test::room(static_cast<std::int64_t>(3 * kOne)), OutOfMemory);
  EXPECT_LE(budget.peak(), budget.limit());
}

TEST(Evict, ViewsSeeTheSame) {
  const Tensor x = numbers(0);
  const Tensor plain = sin(x);
  const Budget budget("views", 4 * kOne, kEvict);
  const Tensor y = sin(x);
  const Tensor turned = transpose(y);
  const Tensor part = slice(y, 0, 3, 9);
  squeeze(budget);
  expect_same_bits(part, slice(plain, 0, 3, 9));
  squeeze(budget);
  expect_same_bits(turned, transpose(plain));
  y.dispose();
  squeeze(budget);
  expect_same_bits(turned, transpose(plain));
  EXPECT_GE(memory().recomputations, 3);
}

TEST(Evict, ComputesInPlaceAndBack) {
  const Tensor x = numbers(0);
  const Tensor w = numbers(7);
  const Tensor plain = tanh(matmul(x, w) + x);
  const Budget budget("chain", 2 * kOne, kEvict);
  const MemoryRegion region;
  const Tensor y = tanh(matmul(x, w) + x);
  EXPECT_EQ(region.peak_bytes(), static_cast<std::int64_t>(kOne)) << "in place, as ever";
  squeeze(budget);
  EXPECT_EQ(budget.used(), 0u);
  expect_same_bits(y, plain);
}

TEST(Evict, WhatWasMovedInIsInUseNoLonger) {
  const Tensor x = numbers(0);
  const Budget budget("moved", 4 * kOne, kEvict);
  Tensor y = sin(x);
  const Tensor view = transpose(y);  // so that it is not computed in
  const Tensor z = softmax(std::move(y));
  squeeze(budget);
  EXPECT_EQ(budget.used(), 0u);
  expect_same_bits(z, softmax(sin(x)));
  expect_same_bits(view, transpose(sin(x)));
}

TEST(Evict, AnInputThatEndsIsKeptOrComputedAgain) {
  const Budget budget("inputs", 8 * kOne, kEvict);
  Tensor source = from_host(3);
  Tensor middle = exp(source);
  const Tensor end = sqrt(middle + 1);
  const Tensor expected = sqrt(exp(from_host(3)) + 1);
  middle.dispose();
  source = Tensor();
  squeeze(budget);
  expect_same_bits(end, expected);
}

TEST(Evict, RandomNumbersStayTheSame) {
  seed(11);
  const Tensor plain = uniform({kSide, kSide});
  const Tensor next = uniform({kSide, kSide});
  seed(11);
  const Budget budget("random", 4 * kOne, kEvict);
  const Tensor x = uniform({kSide, kSide});
  squeeze(budget);
  expect_same_bits(x, plain);
  squeeze(budget);
  expect_same_bits(uniform({kSide, kSide}), next);
  expect_same_bits(x, plain);
}

TEST(Evict, ASpanStays) {
  const Tensor x = numbers(0);
  const Budget budget("span", 4 * kOne, kEvict);
  const Tensor y = x * 2;
  const Tensor z = y + 1;
  const std::span<const float> elements = y.span<float>();
  squeeze(budget);
  EXPECT_EQ(budget.used(), kOne) << "z alone went";
  EXPECT_EQ(elements[5], x.to_vector<float>()[5] * 2);
  EXPECT_EQ(elements.data(), y.span<float>().data());
}

TEST(Evict, WritesOfTheHostChangeNothingBefore) {
  const Budget budget("writes", 8 * kOne, kEvict);
  const Tensor x = zeros({kSide, kSide}) + 1;
  const Tensor y = x + 1;
  const Tensor z = y * 3;
  squeeze(budget);
  x.mutable_span<float>()[0] = 100;
  const std::span<float> elements = x.mutable_span<float>();
  const Tensor after = x + 1;
  squeeze(budget);
  elements[1] = 50;
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_EQ(z.to_vector<float>()[0], 6);
  EXPECT_EQ(after.to_vector<float>()[0], 101);
  EXPECT_EQ(after.to_vector<float>()[1], 2) << "computed before the write";
  EXPECT_EQ(x.to_vector<float>()[1], 50);
}

TEST(Evict, MemoryOfTheUserIsReadOnce) {
  std::vector<float> memory_of_user(kSide * kSide, 1.0f);
  const Tensor x = test::borrow(memory_of_user, [](void*) {});
  const Budget budget("user", 8 * kOne, kEvict);
  const Tensor y = x + 1;
  const Tensor z = y + 1;
  squeeze(budget);
  memory_of_user[0] = 10;
  EXPECT_EQ(y.to_vector<float>()[0], 2);
  EXPECT_EQ(z.to_vector<float>()[0], 3);
}

TEST(Evict, AVariableMayChange) {
  const Variable w(numbers(1), "w");
  const Tensor old = clone(w.value());
  const Budget budget("step", 8 * kOne, kEvict);
  const Tensor y = w.value() * 2;
  const Tensor z = y + 1;
  squeeze(budget);
  w.assign_add(5);  // not in place: y is computed from what was there
  const Tensor later = w.value() * 2;
  w.assign(zeros({kSide, kSide}));
  squeeze(budget);
  expect_same_bits(later, (old + 5) * 2);
  expect_same_bits(z, old * 2 + 1);
  expect_same_bits(y, old * 2);
}

TEST(Evict, ALiveResultDoesNotHinderWritesInPlace) {
  const Variable w(numbers(1), "w");
  const Tensor old = clone(w.value());
  const Budget budget("step", 8 * kOne, kEvict);
  const Tensor gradient = w.value() * 0.5;
  const MemoryRegion region;
  w.assign_sub(gradient);
  EXPECT_EQ(region.peak_bytes(), 0) << "in place";
  squeeze(budget);
  expect_same_bits(gradient, old * 0.5);
}

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
