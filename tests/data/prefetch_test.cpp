#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tenure/base/error.h"
#include "tenure/data/dataset.h"
#include "tenure/kernels/parallel.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/ledger.h"
#include "tenure/ops/creation.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/expect.h"

namespace tenure::data {
namespace {

using test::expect_throws;

constexpr std::int64_t kBytes = 4000;  // of an element below

/// n elements full of their place; `made` counts them.
Dataset counted(std::int64_t n, std::atomic<std::int64_t>& made) {
  return from_function(n, [&made](std::int64_t i) {
    Batch element{full({kBytes / 4}, i, float32)};
    ++made;
    return element;
  });
}

void wait_until(const std::atomic<std::int64_t>& value, std::int64_t target) {
  while (value.load() < target) std::this_thread::yield();
}

TEST(Prefetch, GivesAllElementsInOrder) {
  std::atomic<std::int64_t> made{0};
  for (const std::int64_t ahead : {1, 2, 100}) {
    std::int64_t i = 0;
    for (const Batch& element : counted(50, made).prefetch(ahead)) {
      ASSERT_EQ(element[0].span<float>()[7], static_cast<float>(i++));
    }
    EXPECT_EQ(i, 50);
  }
  EXPECT_EQ(made, 150);
}

TEST(Prefetch, RunsAheadByNoMoreThanAsked) {
  std::atomic<std::int64_t> made{0};
  Pass pass = counted(100, made).prefetch(3).epoch(0);
  EXPECT_EQ(made, 0) << "nothing begins before it is asked for";
  const MemoryStats before = memory();
  Batch first = *pass.next();
  wait_until(made, 4);
  EXPECT_EQ(memory().bytes - before.bytes, 4 * kBytes);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_EQ(made, 4) << "one is with the user, three wait";
  const auto waiting = [&] {
    return memory()[Category::cache].bytes - before[Category::cache].bytes;
  };
  while (waiting() < 3 * kBytes) std::this_thread::yield();
  EXPECT_EQ(waiting(), 3 * kBytes);
  EXPECT_EQ(memory()[Category::activation].bytes - before[Category::activation].bytes, kBytes);
}

TEST(Prefetch, EndsAtAnyTime) {
  const MemoryStats before = memory();
  for (int round = 0; round < 100; ++round) {
    std::atomic<std::int64_t> made{0};
    Pass pass = counted(20, made).prefetch(1 + round % 4).epoch(0);
    for (int i = 0; i < round % 22; ++i) pass.next();
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
}

TEST(Prefetch, ErrorsComeAfterWhatWasBeforeThemAndCanBeTriedAgain) {
  std::atomic<bool> is_broken{true};
  const Dataset dataset = from_function(6, [&](std::int64_t i) {
    if (i == 3 && is_broken) throw ValueError("element 3 is broken");
    return Batch{tensor(i)};
  });
  Pass pass = dataset.prefetch(4).epoch(0);
  for (std::int64_t i = 0; i < 3; ++i) EXPECT_EQ(pass.next()->at(0).item<std::int64_t>(), i);
  for (int i = 0; i < 3; ++i) {
    expect_throws<ValueError>([&] { pass.next(); }, {"element 3 is broken"});
    EXPECT_EQ(pass.position().next, 3);
  }
  is_broken = false;
  for (std::int64_t i = 3; i < 6; ++i) EXPECT_EQ(pass.next()->at(0).item<std::int64_t>(), i);
  EXPECT_FALSE(pass.next().has_value());
}

TEST(Prefetch, CountsInTheBudgetOfWhoAsks) {
  std::atomic<std::int64_t> made{0};
  const Budget budget("loader", 3 * kBytes);
  {
    Pass pass = counted(100, made).prefetch(2).epoch(0);
    const Batch first = *pass.next();
    wait_until(made, 3);
    EXPECT_EQ(budget.used(), static_cast<std::size_t>(3 * kBytes));
  }
  EXPECT_EQ(budget.used(), 0u);
  Pass greedy = counted(100, made).prefetch(10).epoch(0);
  std::vector<Batch> held;
  expect_throws<OutOfMemory>(
      [&] {
        while (true) held.push_back(*greedy.next());
      },
      {"budget \"loader\" refused"});
  EXPECT_EQ(held.size(), 3u);
  held.clear();
  EXPECT_EQ(greedy.next()->at(0).span<float>()[0], 3.F) << "it goes on when there is room";
}

TEST(Prefetch, LeavesTheOtherThreadsToWhoComputes) {
  std::atomic<int> threads{0};
  const Dataset dataset = from_function(1, [&](std::int64_t) {
    threads = num_threads();
    return Batch{};
  });
  dataset.prefetch(1).epoch(0).next();
  EXPECT_EQ(threads, 1);
  const int before = num_threads();
  set_num_threads(2);
  dataset.epoch(0).next();
  EXPECT_EQ(threads, num_threads());
  set_num_threads(before);
}

TEST(Prefetch, IsSteady) {
  std::atomic<std::int64_t> made{0};
  LeakGuard guard("epochs");
  for (std::int64_t epoch = 0; epoch < 20; ++epoch) {
    for (const Batch& batch : counted(10, made).batch(2).prefetch(2).epoch(epoch)) {
      ASSERT_EQ(batch[0].shape(), Shape({2, kBytes / 4}));
    }
    guard.mark();
  }
}

TEST(Prefetch, PassesThatPileUpAreALeak) {
  const Dataset dataset =
      from_function(5, [](std::int64_t) { return Batch{zeros({4})}; }).prefetch(2);
  std::vector<Pass> passes;
  LeakGuard guard;
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) {
          passes.push_back(dataset.epoch(0));
          guard.mark();
        }
      },
      LeakError);
}

// Elements change their category when they are handed over, while others look at them.
TEST(Prefetch, AnybodyMayLookAtWhatWaits) {
  std::atomic<bool> ends{false};
  std::thread looker([&] {
    while (!ends) {
      for (const TensorInfo& info : live_tensors()) {
        EXPECT_LT(static_cast<std::size_t>(info.category), kCategories);
      }
    }
  });
  std::atomic<std::int64_t> made{0};
  std::int64_t i = 0;
  for (const Batch& element : counted(300, made).prefetch(4)) {
    EXPECT_EQ(element[0].to_vector<float>()[0], static_cast<float>(i++));
  }
  ends = true;
  looker.join();
  EXPECT_EQ(i, 300);
}

TEST(Prefetch, ManyPassesAtOnce) {
  std::atomic<std::int64_t> made{0};
  const Dataset dataset = counted(60, made).shuffle(3).batch(7).prefetch(2);
  const auto sum = [&dataset](std::int64_t epoch) {
    double total = 0;
    for (const Batch& batch : dataset.epoch(epoch)) total += batch[0].span<float>()[0];
    return total;
  };
  const double expected = sum(1);
  std::vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] { right += sum(1) == expected ? 1 : 0; });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(right, 4);
}

}  // namespace
}  // namespace tenure::data
