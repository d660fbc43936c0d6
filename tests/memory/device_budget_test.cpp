#include "tenure/memory/pool/devices.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/ledger.h"
#include "tests/memory/second_device.h"
#include "tests/support/share.h"

// Budgets of a second memory, and its end.

namespace tenure {
namespace {

using test::kSecond;
using test::room;
using test::room_on;
using test::SecondDevice;
using test::Unmoved;

TEST_F(SecondDevice, ABudgetCountsWhatLiesThere) {
  const Budget there("there", 10'000, kSecond);
  const Budget here("here", 10'000);
  EXPECT_EQ(there.device(), kSecond);
  EXPECT_EQ(here.device(), cpu);
  const Tensor a = room_on(kSecond, 6000);
  const Tensor b = room(7000);
  EXPECT_EQ(there.used(), 6000u);
  EXPECT_EQ(here.used(), 7000u);
  const Budget inner("inner", 5000, kSecond);
  const Tensor c = room_on(kSecond, 1000);
  EXPECT_EQ(inner.used(), 1000u);
  EXPECT_EQ(there.used(), 7000u) << "budgets of one device nest, whatever lies between them";
  EXPECT_EQ(here.used(), 7000u);
  try {
    room_on(kSecond, 3500);
    ADD_FAILURE() << "past the outer budget";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::budget);
    EXPECT_EQ(error.budget(), "there");
    EXPECT_EQ(error.device(), "test:0");
    EXPECT_EQ(error.facts().used, 7000u);
    EXPECT_EQ(error.facts().limit, 10'000u);
    std::int64_t listed = 0;
    for (const HolderGroup& group : error.facts().largest) listed += group.bytes;
    EXPECT_EQ(listed, 7000) << "of what counts there alone";
    EXPECT_NE(std::string(error.what()).find("on test:0"), std::string::npos) << error.what();
  }
  EXPECT_EQ(room(3000).nbytes(), 3000u) << "the CPU's has room";
  try {
    room(3001);
    ADD_FAILURE() << "past the CPU's";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.budget(), "here");
    EXPECT_EQ(error.device(), "cpu");
    EXPECT_EQ(std::string(error.what()).find("on cpu"), std::string::npos) << error.what();
  }
}

TEST_F(SecondDevice, AnotherThreadEntersTheBudgetsOfAllDevices) {
  const Budget there("there", 10'000, kSecond);
  const Budget here("here", 10'000);
  const Budget::Current current;
  test::on_thread([&] {
    const Budget::Enter enter(current);
    const Tensor a = room_on(kSecond, 6000);
    const Tensor b = room(7000);
    EXPECT_EQ(there.used(), 6000u);
    EXPECT_EQ(here.used(), 7000u);
    EXPECT_THROW(room_on(kSecond, 4001), OutOfMemory);
    EXPECT_THROW(room(3001), OutOfMemory);
  });
  EXPECT_EQ(there.used(), 0u);
  EXPECT_EQ(here.used(), 0u);
}

TEST_F(SecondDevice, HasAProcessBudgetOfItsOwn) {
  const Tensor live = room_on(kSecond, 1000);
  set_process_budget(static_cast<std::size_t>(before_.bytes) + 3000, kSecond);
  const Tensor more = room_on(kSecond, 2000);
  EXPECT_EQ(room(100'000).nbytes(), 100'000u);
  try {
    room_on(kSecond, 1);
    ADD_FAILURE() << "past the process's";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.budget(), "process");
    EXPECT_EQ(error.device(), "test:0");
  }
  more.dispose();
  EXPECT_EQ(room_on(kSecond, 2000).nbytes(), 2000u);
  set_process_budget(kNoLimit, kSecond);
  EXPECT_EQ(room_on(kSecond, 20'000).nbytes(), 20'000u);
}

TEST_F(SecondDevice, ThatIsExhaustedSaysSo) {
  const Unmoved here(cpu);
  std::vector<Tensor> all;
  const auto capacity = static_cast<std::int64_t>(source_.capacity());
  while (source_.mapped() < source_.capacity()) all.push_back(room_on(kSecond, capacity / 8));
  const MemoryStats full = memory(kSecond);
  try {
    room_on(kSecond, capacity / 8);
    ADD_FAILURE() << "more than there is";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::system);
    EXPECT_EQ(error.device(), "test:0");
    EXPECT_EQ(error.requested(), static_cast<std::size_t>(capacity / 8));
    EXPECT_EQ(error.facts().used, static_cast<std::size_t>(full.bytes));
    EXPECT_EQ(error.facts().largest.at(0).bytes, full.bytes - before_.bytes);
    EXPECT_NE(std::string(error.what()).find("device test:0 has no"), std::string::npos)
        << error.what();
  }
  const MemoryStats after = memory(kSecond);
  EXPECT_EQ(after.bytes, full.bytes);
  EXPECT_EQ(after.tensors, full.tensors);
  EXPECT_EQ(after.allocations, full.allocations);
  // The free segments are each too small: they go back, and a larger one comes.
  all.clear();
  EXPECT_EQ(room_on(kSecond, capacity / 2).nbytes(), static_cast<std::size_t>(capacity / 2));
}

}  // namespace
}  // namespace tenure
