#include "tenure/memory/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "tenure/base/units.h"
#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::here;
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

TEST(Budget, ARefusalChangesNothingAndTellsEverything) {
  const Tensor witness = test::counting({100});
  const MemoryStats before = memory();
  const std::size_t tensors = live_tensors().size();
  const Budget budget("training step", 64 * KiB);
  const Tensor weights = room(40'000);
  const std::string made_at = here(weights.created());
  try {
    room(30'000);
    ADD_FAILURE() << "it was not refused";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::budget);
    EXPECT_EQ(error.budget(), "training step");
    EXPECT_EQ(error.requested(), 30'000u);
    EXPECT_EQ(error.facts().limit, 64 * KiB);
    EXPECT_EQ(error.facts().used, 40'000u);
    ASSERT_FALSE(error.facts().largest.empty());
    EXPECT_EQ(error.facts().largest[0].op, "room");
    EXPECT_EQ(error.facts().largest[0].bytes, 40'000);
    EXPECT_EQ(error.facts().largest[0].site.line(), weights.created().line());
    for (const std::string& part :
         {std::string("budget \"training step\" refused 29.30 KiB: 39.06 KiB of 64.00 KiB"),
          std::string("39.06 KiB  in 1 tensor made by room at ") + made_at,
          std::string("raise the budget to 68.36 KiB")}) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "no '" << part << "' in\n"
          << error.what();
    }
  }
  EXPECT_EQ(memory().bytes, before.bytes + 40'000);
  EXPECT_EQ(memory().tensors, before.tensors + 1);
  EXPECT_EQ(memory().allocations, before.allocations + 1);
  EXPECT_EQ(live_tensors().size(), tensors + 1);
  EXPECT_EQ(witness.to_vector<float>()[99], 99);
}

TEST(Budget, ListsTheLargestFiveGroupedByLine) {
  const Budget budget("b", 1 * MiB);
  std::vector<Tensor> all;
  for (int i = 0; i < 3; ++i) all.push_back(room(100'000));  // one line: one group
  all.push_back(room(90'000));
  all.push_back(room(80'000));
  all.push_back(room(70'000));
  all.push_back(room(60'000));
  all.push_back(room(50'000));
  const Tensor view = test::share(all[0]);
  try {
    room(1 * MiB);
    ADD_FAILURE();
  } catch (const OutOfMemory& error) {
    const std::vector<HolderGroup>& largest = error.facts().largest;
    ASSERT_EQ(largest.size(), 5u);
    EXPECT_EQ(largest[0].bytes, 300'000);
    EXPECT_EQ(largest[0].tensors, 3);
    EXPECT_EQ(largest[4].bytes, 60'000);
  }
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

TEST(Budget, HugeRequestsDoNotWrapAround) {
  const Budget budget("b", kNoLimit);
  const Tensor some = room(1000);
  EXPECT_THROW(room(std::int64_t{1} << 62), OutOfMemory);
  EXPECT_EQ(budget.used(), 1000u);
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

TEST(Budget, ARefusalListsWhatIsInTheBudget) {
  const Tensor outside = room(50'000);
  const Budget outer("outer", 10'000);
  const Tensor in_outer = room(3000);
  const Budget inner("inner", 5000);
  const Tensor in_inner = room(2000);
  const auto listed = [](std::int64_t bytes) {
    try {
      room(bytes);
    } catch (const OutOfMemory& error) {
      std::vector<std::int64_t> sizes;
      for (const HolderGroup& group : error.facts().largest) sizes.push_back(group.bytes);
      return sizes;
    }
    return std::vector<std::int64_t>{-1};
  };
  EXPECT_EQ(listed(4000), (std::vector<std::int64_t>{2000}));
  const Tensor more = room(2500);
  const Tensor view = test::share(outside);
  const Budget wide("wide", 100'000);
  EXPECT_EQ(listed(600), (std::vector<std::int64_t>{2500, 2000})) << "refused by inner";
  on_thread([&] {
    const Budget::Enter enter(outer);
    EXPECT_EQ(listed(4000), (std::vector<std::int64_t>{3000, 2500, 2000}));
  });
}

TEST(Budget, ThreadsListWhileOthersFree) {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) {
      const Budget budget("short", 10'000);
      const Tensor some = room(3000);
      const Budget inner("inner", 10'000);
      const Tensor more = room(3000);
    }
  });
  const Budget budget("mine", 100);
  for (int i = 0; i < test::rounds(300); ++i) EXPECT_THROW(room(200), OutOfMemory);
  stop = true;
  worker.join();
}

TEST(Budget, TheSystemsRefusalDoesNotAdviseWhatWasDone) {
  std::atomic<int> step{0};
  std::thread other([&] {
    { const Tensor cached = room(100); }  // where trim() does not reach it
    step = 1;
    while (step != 2) std::this_thread::yield();
  });
  while (step != 1) std::this_thread::yield();
  try {
    room(std::int64_t{1} << 62);
    ADD_FAILURE();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::system);
    EXPECT_GT(error.facts().cached, 0u);
    EXPECT_EQ(std::string(error.what()).find("trim"), std::string::npos) << error.what();
  }
  step = 2;
  other.join();
}

}  // namespace
}  // namespace tenure
