#include "tenure/memory/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::room;

TEST(Budget, CountsAndRefuses) {
  const Budget budget("request", 1000);
  EXPECT_EQ(budget.name(), "request");
  EXPECT_EQ(budget.limit(), 1000u);
  const Tensor a = room(600);
  EXPECT_EQ(budget.used(), 600u);
  EXPECT_EQ(budget.available(), 400u);
  EXPECT_THROW(room(401), OutOfMemory);
  EXPECT_EQ(budget.used(), 600u);
  const Tensor b = room(400);
  EXPECT_EQ(budget.available(), 0u);
  EXPECT_THROW(room(1), OutOfMemory);
  EXPECT_EQ(room(0).size(), 0) << "nothing always fits";
  a.dispose();
  EXPECT_EQ(budget.used(), 400u);
  EXPECT_EQ(budget.peak(), 1000u);
  EXPECT_NO_THROW(room(600));
}

TEST(Budget, Nests) {
  const Budget outer("model", 1000);
  const Tensor base = room(300);
  std::optional<Budget> inner(std::in_place, "request", 500);
  const Tensor a = room(400);
  EXPECT_EQ(inner->used(), 400u);
  EXPECT_EQ(outer.used(), 700u);
  test::expect_throws<OutOfMemory>([] { room(200); }, {"budget \"request\""});
  EXPECT_EQ(inner->used(), 400u);
  EXPECT_EQ(outer.used(), 700u);
  inner.reset();
  const Tensor b = room(200);
  inner.emplace("second", 500);
  // The inner one would allow it, the outer one refuses: nothing is charged to either.
  test::expect_throws<OutOfMemory>([] { room(200); }, {"budget \"model\""});
  EXPECT_EQ(inner->used(), 0u);
  EXPECT_EQ(inner->peak(), 0u) << "what was refused never was";
  EXPECT_EQ(outer.used(), 900u);
  EXPECT_EQ(outer.peak(), 900u);
}

TEST(Budget, Zero) {
  const Budget none("none", 0);
  test::expect_throws<OutOfMemory>([] { room(1); }, {"budget \"none\"", "0 B of 0 B"});
  const Tensor empty = room(0);
  EXPECT_EQ(empty.size(), 0);
  const Tensor view = test::share(empty);
  EXPECT_EQ(none.available(), 0u);
}

TEST(Budget, ViewsAreFree) {
  const Tensor before = room(5000);
  const Budget budget("small", 10);
  const Tensor view = test::share(before);
  EXPECT_EQ(budget.used(), 0u);
  before.dispose();
  EXPECT_EQ(budget.used(), 0u) << "what was there before was never charged";
}

TEST(Budget, IsOfItsThread) {
  const Budget budget("mine", 100);
  on_thread([] { EXPECT_EQ(room(5000).nbytes(), 5000u); });
  EXPECT_EQ(budget.used(), 0u);
}

TEST(Budget, OtherThreadsEnterIt) {
  const Budget budget("shared", 1000);
  Tensor left;
  on_thread([&] {
    {
      const Budget::Enter enter(budget);
      left = room(800);
      test::expect_throws<OutOfMemory>([] { room(300); }, {"budget \"shared\""});
    }
    EXPECT_NO_THROW(room(300));
  });
  EXPECT_EQ(budget.used(), 800u);
  EXPECT_THROW(room(300), OutOfMemory);
  on_thread([&] { left = Tensor(); });
  EXPECT_EQ(budget.used(), 0u) << "freed by a thread that never entered";
}

TEST(Budget, EnterReplacesTheThreadsOwnAndGivesItBack) {
  const Budget shared("shared", 10'000);
  on_thread([&] {
    const Budget own("own", 100);
    {
      const Budget::Enter enter(shared);
      EXPECT_NO_THROW(room(5000));
    }
    EXPECT_THROW(room(5000), OutOfMemory);
  });
}

TEST(Budget, ManyThreadsNeverPassIt) {
  const Budget budget("tight", 10'000);
  std::atomic<int> refused{0};
  on_threads(4, [&](int) {
    const Budget::Enter enter(budget);
    std::vector<Tensor> mine;
    for (int i = 0; i < test::rounds(3000); ++i) {
      try {
        mine.push_back(room(700));
      } catch (const OutOfMemory&) {
        ++refused;
        mine.clear();
      }
      ASSERT_LE(budget.used(), 10'000u);
    }
  });
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_LE(budget.peak(), 10'000u);
  EXPECT_GT(refused, 0);
}

// In a process of its own: once set, a process budget makes all allocations take the long way.
TEST(BudgetDeathTest, OfTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        set_process_budget(kNoLimit);
        Tensor early = room(1000);
        const auto live = static_cast<std::size_t>(memory().bytes);
        set_process_budget(live + 500);
        const Budget inner("inner", 10'000);
        const bool fits = room(500).nbytes() == 500;
        bool refused = false;
        try {
          room(501);
        } catch (const OutOfMemory& error) {
          refused = error.budget() == "process" && error.facts().used == live;
        }
        bool refused_elsewhere = false;
        on_thread([&] {
          try {
            room(501);
          } catch (const OutOfMemory&) {
            refused_elsewhere = true;
          }
        });
        const bool charged_nothing = inner.used() == 0;
        early = Tensor();
        const bool fits_again = room(1500).nbytes() == 1500;
        set_process_budget(kNoLimit);
        const bool lifted = room(9000).nbytes() == 9000;
        std::exit(fits && refused && refused_elsewhere && charged_nothing && fits_again && lifted
                      ? 0
                      : 1);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tenure
