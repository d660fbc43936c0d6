#include "tenure/memory/budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "tenure/base/units.h"
#include "tenure/memory/ledger.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

// What a budget that refuses says.

namespace tenure {
namespace {

using test::here;
using test::on_thread;
using test::room;

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

/// The text of an error ends for many at a byte of zero.
TEST(Budget, ANameOfAnyBytesHidesNothing) {
  const Budget budget(std::string("a\0b", 3), 10);
  try {
    room(1000);
    ADD_FAILURE() << "it was not refused";
  } catch (const OutOfMemory& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("budget \"a\\0b\" refused"), std::string::npos) << text;
    EXPECT_NE(text.find("raise the budget to"), std::string::npos) << text;
    EXPECT_EQ(error.budget(), budget.name());
  }
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

TEST(Budget, ALimitBelowZeroIsNoLimitByMistake) {
  const std::int64_t left = std::int64_t{100} - 101;
  EXPECT_THROW(Budget("b", left), ValueError);
  EXPECT_THROW(Budget("b", -1, Budget::Options{.evict = true}), ValueError);
  EXPECT_THROW(Budget("b", std::nan("")), ValueError);
  EXPECT_THROW(set_process_budget(left), ValueError);
  EXPECT_EQ(Budget("b", 0.5 * MiB).limit(), 512 * KiB);
  EXPECT_EQ(Budget("b", 1e30).limit(), kNoLimit);
  EXPECT_EQ(Budget("b", 0).limit(), 0u);
}

TEST(Budget, HugeRequestsDoNotWrapAround) {
  const Budget budget("b", kNoLimit);
  const Tensor some = room(1000);
  EXPECT_THROW(room(std::int64_t{1} << 62), OutOfMemory);
  EXPECT_EQ(budget.used(), 1000u);
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
