#include "tenure/memory/holders/spare.h"

#include <gtest/gtest.h>

#include "tenure/base/units.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/out_of_memory.h"

namespace tenure::mem {
namespace {

constexpr std::size_t kBytes = 256 * KiB;

Storage* spare_bytes(std::size_t bytes = kBytes) {
  return Spare::allocate(this_thread(), cpu, bytes);
}
Storage* other_bytes(std::size_t bytes = kBytes) {
  return Storage::allocate(this_thread(), cpu, bytes);
}

TEST(Spare, KeepsWhatWasGivenUnderItsTag) {
  const std::int64_t before = memory()[Category::cache].bytes;
  Spare spare;
  EXPECT_EQ(spare.find(1), nullptr);
  Storage* const given = spare_bytes();
  spare.keep(given, 1);
  EXPECT_EQ(memory()[Category::cache].bytes - before, static_cast<std::int64_t>(kBytes));
  Storage* const found = spare.find(1);
  EXPECT_EQ(found, given);
  found->release();
  EXPECT_EQ(spare.find(2), nullptr) << "it is of another tag";
  EXPECT_EQ(memory()[Category::cache].bytes, before) << "and of no use any more";
  EXPECT_EQ(spare.find(1), nullptr);
}

TEST(Spare, EndsWithItsKeeper) {
  const std::int64_t before = memory().bytes;
  {
    Spare spare;
    spare.keep(spare_bytes(), 1);
    spare.keep(spare_bytes(), 2);
    EXPECT_EQ(memory().bytes - before, static_cast<std::int64_t>(kBytes));
  }
  EXPECT_EQ(memory().bytes, before);
}

TEST(Spare, TakesNothingThatABudgetHasNoRoomFor) {
  const Budget outer("outer", 3 * kBytes);
  const Budget inner("inner", 2 * kBytes);
  EXPECT_EQ(spare_bytes(2 * kBytes + 1), nullptr);
  Storage* const held = other_bytes();
  EXPECT_EQ(spare_bytes(kBytes + 1), nullptr);
  Storage* const fits = spare_bytes(kBytes);
  ASSERT_NE(fits, nullptr);
  EXPECT_EQ(inner.used(), 2 * kBytes);
  fits->release();
  held->release();
}

TEST(Spare, GoesBeforeSomebodyIsRefused) {
  const Budget budget("budget", 3 * kBytes);
  Spare first;
  Spare second;
  first.keep(spare_bytes(), 1);
  second.keep(spare_bytes(), 1);
  EXPECT_EQ(budget.used(), 2 * kBytes);
  Storage* const a = other_bytes();
  EXPECT_EQ(budget.used(), 3 * kBytes) << "there was room";
  Storage* const b = other_bytes();
  EXPECT_EQ(first.find(1), nullptr) << "the one that was kept first goes first";
  Storage* const used = second.find(1);
  ASSERT_NE(used, nullptr);
  EXPECT_THROW(static_cast<void>(other_bytes()), OutOfMemory) << "what is in use stays";
  used->release();
  Storage* const c = other_bytes();
  EXPECT_EQ(second.find(1), nullptr);
  EXPECT_EQ(budget.used(), 3 * kBytes);
  for (Storage* const storage : {a, b, c}) storage->release();
}

TEST(Spare, IsLeftWhereItDoesNotCount) {
  Spare spare;
  spare.keep(spare_bytes(), 1);
  const Budget budget("budget", kBytes);
  EXPECT_THROW(static_cast<void>(other_bytes(2 * kBytes)), OutOfMemory);
  Storage* const found = spare.find(1);
  EXPECT_NE(found, nullptr) << "it is none of this budget's";
  if (found != nullptr) found->release();
}

TEST(Spare, MakesNoAllocationFailThatIsMadeToFail) {
  const FaultInjection fault(1);
  EXPECT_EQ(spare_bytes(), nullptr);
  EXPECT_FALSE(fault.fired());
}

}  // namespace
}  // namespace tenure::mem
