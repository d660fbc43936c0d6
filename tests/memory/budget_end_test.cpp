#include "tenure/memory/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

// How budgets end: in any order and on any thread.

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::room;

TEST(Budget, TensorsOutliveIt) {
  const Budget outer("outer", 1000);
  Tensor left;
  {
    const Budget inner("inner", 500);
    left = room(400);
  }
  EXPECT_EQ(outer.used(), 400u) << "it counts until it is freed";
  EXPECT_THROW(room(700), OutOfMemory);
  left = Tensor();
  EXPECT_EQ(outer.used(), 0u);
}

TEST(Budget, AnEnteredThreadOutlivesIt) {
  auto budget = std::make_unique<Budget>("short", 1000);
  std::atomic<int> step{0};
  std::thread thread([&] {
    const Budget::Enter enter(*budget);
    Tensor held = room(500);
    step = 1;
    while (step != 2) std::this_thread::yield();
    EXPECT_THROW(room(600), OutOfMemory) << "the limit holds while the thread is in it";
    held = Tensor();
    EXPECT_NO_THROW(room(600));
  });
  while (step != 1) std::this_thread::yield();
  budget.reset();
  step = 2;
  thread.join();
}

// Assignment makes the new one before it ends the old one.
TEST(Budget, MayBeReplacedInALoop) {
  const Budget outer("outer", 10'000);
  std::unique_ptr<Budget> budget;
  for (int i = 0; i < test::rounds(100'000); ++i) {
    budget = std::make_unique<Budget>("request " + std::to_string(i), 1000);
    if (i % 1000 > 2) continue;
    test::expect_throws<OutOfMemory>([] { room(1001); },
                                     {"budget \"request " + std::to_string(i) + "\""});
    const Tensor fits = room(900);
    EXPECT_EQ(budget->used(), 900u);
    EXPECT_EQ(outer.used(), 900u);
  }
  budget.reset();
  EXPECT_NO_THROW(room(5000));
  EXPECT_THROW(room(10'001), OutOfMemory);
  EXPECT_EQ(outer.used(), 0u);
}

TEST(Budget, TensorsOfReplacedOnesCountInTheOuterOne) {
  const Budget outer("outer", 10'000);
  std::vector<Tensor> left;
  std::unique_ptr<Budget> budget;
  for (int i = 0; i < 5; ++i) {
    budget = std::make_unique<Budget>("request", 1000);
    left.push_back(room(800));
    EXPECT_EQ(budget->used(), 800u);
    EXPECT_EQ(outer.used(), 800u * static_cast<std::size_t>(i + 1));
  }
  budget.reset();
  left.clear();
  EXPECT_EQ(outer.used(), 0u);
}

TEST(Budget, EndsInAnyOrder) {
  test::Random random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<std::unique_ptr<Budget>> budgets;
    std::vector<std::size_t> limits;
    for (int i = 0; i < 6; ++i) {
      limits.push_back(static_cast<std::size_t>(1000 + random.below(1000)));
      budgets.push_back(std::make_unique<Budget>("b", limits.back()));
    }
    while (!budgets.empty()) {
      const auto least = static_cast<std::int64_t>(*std::min_element(limits.begin(), limits.end()));
      EXPECT_NO_THROW(room(least));
      EXPECT_THROW(room(least + 1), OutOfMemory);
      const std::int64_t out = random.below(static_cast<std::int64_t>(budgets.size()));
      budgets.erase(budgets.begin() + out);
      limits.erase(limits.begin() + out);
    }
    EXPECT_NO_THROW(room(3000));
  }
}

TEST(Budget, EndsOnAnotherThread) {
  auto outer = std::make_unique<Budget>("outer", 5000);
  for (int i = 0; i < 100; ++i) {
    auto budget = std::make_unique<Budget>("moved", 1000);
    EXPECT_THROW(room(2000), OutOfMemory);
    Tensor left = room(500);
    on_thread([&] {
      budget.reset();
      EXPECT_NO_THROW(room(9000));
    });
    EXPECT_NO_THROW(room(2000)) << "it has ended";
    EXPECT_EQ(outer->used(), 500u);
    left = Tensor();
    EXPECT_EQ(outer->used(), 0u);
    EXPECT_THROW(room(6000), OutOfMemory);
  }
  on_thread([&] { outer.reset(); });
  EXPECT_NO_THROW(room(6000));
}

TEST(Budget, OutlivesItsThread) {
  std::unique_ptr<Budget> budget;
  Tensor left;
  on_thread([&] {
    budget = std::make_unique<Budget>("worker", 1000);
    left = room(500);
  });
  on_thread([] { EXPECT_NO_THROW(room(5000)) << "the next thread is not in it"; });
  EXPECT_EQ(budget->used(), 500u);
  {
    const Budget::Enter enter(*budget);
    EXPECT_THROW(room(600), OutOfMemory);
  }
  on_thread([&] { budget.reset(); });
  EXPECT_NO_THROW(room(5000));
}

TEST(Budget, EnterEndsInAnyOrderAndOnAnyThread) {
  const Budget shared("shared", 1000);
  on_thread([&] {
    auto first = std::make_unique<Budget::Enter>(shared);
    auto own = std::make_unique<Budget>("own", 500);
    auto second = std::make_unique<Budget::Enter>(shared);
    EXPECT_NO_THROW(room(800));
    first.reset();
    own.reset();
    EXPECT_THROW(room(1001), OutOfMemory);
    second.reset();
    EXPECT_NO_THROW(room(1001));
    auto moved = std::make_unique<Budget::Enter>(shared);
    on_thread([&] { moved.reset(); });
    const Budget other("other", 2000);
    EXPECT_NO_THROW(room(1500));
  });
  EXPECT_EQ(shared.used(), 0u);
  EXPECT_THROW(room(1001), OutOfMemory);
}

TEST(Budget, ThreadsEndEachOthers) {
  const Budget outer("outer", 100'000);
  std::atomic<Budget*> slots[4] = {};
  on_threads(4, [&](int self) {
    const Budget::Enter enter(outer);
    for (int i = 0; i < test::rounds(5000); ++i) {
      delete slots[(self + i) % 4].exchange(new Budget("mine", 10'000));
      const Tensor some = room(100);
    }
  });
  for (std::atomic<Budget*>& slot : slots) delete slot.load();
  EXPECT_EQ(outer.used(), 0u);
}

}  // namespace
}  // namespace tenure
