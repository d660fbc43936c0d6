#include "tenure/memory/pool/devices.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/recording.h"
#include "tenure/memory/region.h"
#include "tenure/memory/scope.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/second_memory.h"
#include "tests/support/share.h"

// A second memory beside the CPU's, which the host cannot touch: all that holds on the CPU holds
// there, and neither sees what happens on the other.

namespace tenure {
namespace {

using test::data_of;
using test::kSecond;
using test::on_threads;
using test::Random;
using test::room;
using test::room_on;
using test::share;

constexpr Device kAbsent{.kind = Device::Kind::cuda, .index = 7};

class SecondDevice : public testing::Test {
 protected:
  void SetUp() override {
    test::second_memory();
    trim();
    reset_peak(kSecond);
    before_ = memory(kSecond);
  }
  test::SecondMemory& source_ = test::second_memory();
  MemoryStats before_;
};

/// Checks that the numbers of a device are what they were.
class Unmoved {
 public:
  explicit Unmoved(Device device) : device_(device) {
    reset_peak(device), before_ = memory(device);
  }
  ~Unmoved() { check(); }
  void check() const {
    const MemoryStats now = memory(device_);
    EXPECT_EQ(now.tensors, before_.tensors);
    EXPECT_EQ(now.storages, before_.storages);
    EXPECT_EQ(now.bytes, before_.bytes);
    EXPECT_EQ(now.peak, before_.peak);
    EXPECT_EQ(now.allocations, before_.allocations);
    EXPECT_EQ(now.frees, before_.frees);
    EXPECT_EQ(now.foreign_bytes, before_.foreign_bytes);
    for (std::size_t i = 0; i < kCategories; ++i) {
      EXPECT_EQ(now.categories[i].storages, before_.categories[i].storages);
      EXPECT_EQ(now.categories[i].bytes, before_.categories[i].bytes);
      EXPECT_EQ(now.categories[i].peak, before_.categories[i].peak);
    }
  }

 private:
  Device device_;
  MemoryStats before_;
};

TEST(Devices, HaveNames) {
  EXPECT_EQ(name_of(cpu), "cpu");
  EXPECT_EQ(name_of({.kind = Device::Kind::cuda, .index = 1}), "cuda:1");
  EXPECT_EQ(name_of(kSecond), "test:0");
}

TEST(Devices, EachHasAPlaceOfItsOwn) {
  for (std::size_t place = 0; place < mem::kDevices; ++place) {
    EXPECT_EQ(mem::place_of(mem::device_at(place)), place);
  }
  EXPECT_EQ(mem::place_of({.kind = Device::Kind::cpu, .index = 1}), mem::kDevices);
  EXPECT_EQ(mem::place_of({.kind = Device::Kind::test, .index = 16}), mem::kDevices);
}

TEST_F(SecondDevice, IsMadeKnownOnce) {
  test::SecondMemory another(1);
  for (const Device device : {kSecond, cpu, Device{Device::Kind::cpu, 1},
                              Device{Device::Kind::cuda, mem::kDevicesOfAKind}}) {
    EXPECT_THROW(mem::add_device(device, another), ValueError) << name_of(device);
  }
  EXPECT_TRUE(mem::is_present(cpu));
  EXPECT_TRUE(mem::is_present(kSecond));
  EXPECT_FALSE(mem::is_present(kAbsent));
}

TEST_F(SecondDevice, AnAbsentOneIsRefused) {
  const Unmoved here(cpu);
  EXPECT_THROW(memory(kAbsent), ValueError);
  EXPECT_THROW(reset_peak(kAbsent), ValueError);
  EXPECT_THROW(trim(kAbsent), ValueError);
  EXPECT_THROW(set_cache_limit(1, kAbsent), ValueError);
  EXPECT_THROW(cache_limit(kAbsent), ValueError);
  EXPECT_THROW(Budget("b", 1, kAbsent), ValueError);
  EXPECT_THROW(set_process_budget(1, kAbsent), ValueError);
  EXPECT_THROW(MemoryRegion{kAbsent}, ValueError);
  try {
    room_on(kAbsent, 100);
    ADD_FAILURE() << "memory of a device that is not there";
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("cuda:7"), std::string::npos) << error.what();
  }
}

TEST_F(SecondDevice, HasItsOwnBytesAndNumbers) {
  const Unmoved here(cpu);
  for (const std::int64_t bytes : {0, 1, 100, 32 * 1024, 1'000'000}) {
    const Tensor tensor = room_on(kSecond, bytes);
    EXPECT_EQ(tensor.device(), kSecond);
    EXPECT_TRUE(source_.has(data_of(tensor))) << bytes;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data_of(tensor)) % source_.granularity(), 0u);
    const MemoryStats now = memory(kSecond);
    EXPECT_EQ(now.tensors, before_.tensors + 1);
    EXPECT_EQ(now.storages, before_.storages + 1);
    EXPECT_EQ(now.bytes, before_.bytes + bytes);
    EXPECT_EQ(now.metadata_bytes, 0) << "records of tensors lie on the CPU";
    here.check();
  }
  const MemoryStats after = memory(kSecond);
  EXPECT_EQ(after.bytes, before_.bytes);
  EXPECT_EQ(after.tensors, before_.tensors);
  EXPECT_EQ(after.allocations, before_.allocations + 5);
  EXPECT_EQ(after.frees, before_.frees + 5);
  EXPECT_EQ(after.peak, before_.bytes + 1'000'000);
}

TEST_F(SecondDevice, DoesNotSeeTheCpu) {
  const Unmoved there(kSecond);
  const CategoryScope category(Category::gradient);
  const Tensor tensor = room(5000);
  const Tensor view = share(tensor);
  EXPECT_EQ(view.device(), cpu);
}

TEST_F(SecondDevice, IsToldForGood) {
  const Tensor tensor = room_on(kSecond, 100);
  const Tensor view = share(tensor);
  tensor.dispose();
  EXPECT_EQ(tensor.device(), kSecond);
  EXPECT_EQ(view.device(), kSecond);
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes + 100);
  view.dispose();
  EXPECT_EQ(view.device(), kSecond);
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
  try {
    Pin(view.body("test"), "test", Site::current());
    ADD_FAILURE() << "it is disposed";
  } catch (const DisposedError& error) {
    EXPECT_NE(std::string(error.what()).find("on test:0"), std::string::npos) << error.what();
  }
}

TEST_F(SecondDevice, ASymbolIsDeclaredThere) {
  class Nothing final : public Symbol {
   public:
    std::string describe() const override { return "nothing"; }
    std::shared_ptr<ops::Recorder> recorder(const char*, Site) const override { return nullptr; }
  };
  const Unmoved here(cpu);
  const Unmoved there(kSecond);
  const Shape shape{3};
  const Tensor symbol = make_symbolic(std::make_unique<Nothing>(), DType::float32, shape, "symbol",
                                      Site::current(), kSecond);
  EXPECT_EQ(symbol.device(), kSecond);
}

TEST_F(SecondDevice, AStorageThatIsTakenOverStaysThere) {
  Tensor tensor = room_on(kSecond, 100);
  const void* const data = data_of(tensor);
  const Shape shape{100};
  PendingTensor pending;
  Tensor taken;
  {
    const Pin pin(tensor.body("test"), "test", Site::current());
    pending.borrow(mem::this_thread(), DType::int8, shape, tensor.body("test"));
    EXPECT_EQ(pending.device(), kSecond);
    taken = pending.finish("test", Site::current());
  }
  EXPECT_EQ(taken.device(), kSecond);
  EXPECT_EQ(data_of(taken), data);
  EXPECT_TRUE(tensor.is_disposed());
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors + 1);
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes + 100);
}

TEST_F(SecondDevice, CountsCategories) {
  const Unmoved here(cpu);
  std::optional<Tensor> tensor;
  {
    const CategoryScope category(Category::gradient);
    tensor = room_on(kSecond, 300);
  }
  EXPECT_EQ(memory(kSecond)[Category::gradient].bytes, before_[Category::gradient].bytes + 300);
  {
    const Pin pin(tensor->body("test"), "test", Site::current());
    pin.storage()->set_category(mem::this_thread(), Category::parameter);
  }
  const MemoryStats moved = memory(kSecond);
  EXPECT_EQ(moved[Category::gradient].bytes, before_[Category::gradient].bytes);
  EXPECT_EQ(moved[Category::parameter].bytes, before_[Category::parameter].bytes + 300);
  EXPECT_EQ(moved[Category::parameter].storages, before_[Category::parameter].storages + 1);
  EXPECT_EQ(moved.allocations, before_.allocations + 1);
  tensor.reset();
  const MemoryStats after = memory(kSecond);
  EXPECT_EQ(after[Category::parameter].bytes, before_[Category::parameter].bytes);
  EXPECT_EQ(after[Category::parameter].peak, before_[Category::parameter].bytes + 300);
  EXPECT_EQ(after[Category::gradient].peak, before_[Category::gradient].bytes + 300);
}

TEST_F(SecondDevice, ScopesServeAllDevices) {
  Tensor there;
  Tensor here;
  {
    const Scope scope;
    there = room_on(kSecond, 1000);
    here = room(1000);
    EXPECT_EQ(memory(kSecond).bytes, before_.bytes + 1000);
  }
  EXPECT_TRUE(there.is_disposed());
  EXPECT_TRUE(here.is_disposed());
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors);
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
}

TEST_F(SecondDevice, ARegionMeasuresIt) {
  const MemoryRegion there(kSecond);
  const MemoryRegion here;
  const Tensor kept = room_on(kSecond, 1000);
  { const Tensor gone = room_on(kSecond, 5000); }
  EXPECT_EQ(there.left_bytes(), 1000);
  EXPECT_EQ(there.left_tensors(), 1);
  EXPECT_EQ(there.peak_bytes(), 6000);
  EXPECT_EQ(there.allocations(), 2);
  EXPECT_EQ(there.frees(), 1);
  EXPECT_EQ(here.left_bytes(), 0);
  EXPECT_EQ(here.left_tensors(), 0);
  EXPECT_EQ(here.peak_bytes(), 0);
  EXPECT_EQ(here.allocations(), 0);
}

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

TEST_F(SecondDevice, GivesSegmentsBack) {
  const Unmoved here(cpu);
  const std::size_t mapped = source_.mapped();
  {
    const Tensor large = room_on(kSecond, 20'000'000);
    EXPECT_GE(memory(kSecond).reserved_bytes, before_.reserved_bytes + 20'000'000);
    const std::int64_t cached = memory().cached_bytes;
    trim(kSecond);
    EXPECT_EQ(memory().cached_bytes, cached) << "the CPU's pool is another";
    EXPECT_GT(source_.mapped(), mapped) << "it is in use";
  }
  EXPECT_GE(memory(kSecond).cached_bytes, before_.cached_bytes + 20'000'000);
  trim();
  EXPECT_EQ(source_.mapped(), mapped);
  EXPECT_EQ(memory(kSecond).reserved_bytes, before_.reserved_bytes);
}

TEST_F(SecondDevice, WhatCannotBeGivenBackStaysCached) {
  const Tensor wall = room_on(kSecond, 1000);
  { const Tensor large = room_on(kSecond, 1'000'000); }
  const std::int64_t cached = memory(kSecond).cached_bytes;
  EXPECT_GE(cached, before_.cached_bytes + 1'000'000);
  trim(kSecond);
  EXPECT_EQ(memory(kSecond).cached_bytes, cached) << "a part of a segment has not left";
}

TEST_F(SecondDevice, KeepsToACacheLimitOfItsOwn) {
  const std::size_t usual = cache_limit();
  const std::size_t all = cache_limit(kSecond);
  set_cache_limit(0, kSecond);
  const std::size_t mapped = source_.mapped();
  { const Tensor large = room_on(kSecond, 20'000'000); }
  EXPECT_EQ(source_.mapped(), mapped);
  EXPECT_EQ(cache_limit(), usual);
  set_cache_limit(all, kSecond);
}

TEST_F(SecondDevice, AFaultNamesIt) {
  const Unmoved there(kSecond);
  const FaultInjection fault(1);
  try {
    room_on(kSecond, 100);
    ADD_FAILURE() << "it was to fail";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::injected);
    EXPECT_EQ(error.device(), "test:0");
  }
}

TEST_F(SecondDevice, ATensorThatCannotBeLeavesNothing) {
  const Unmoved here(cpu);
  const FaultInjection fault(2);  // the tensor's own record
  try {
    room_on(kSecond, 100);
    ADD_FAILURE() << "it was to fail";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.device(), "cpu") << "where records lie";
  }
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors);
}

TEST_F(SecondDevice, RecordingsHoldersAndListsKnowIt) {
  const Recording recording(100);
  const Tensor there = room_on(kSecond, 100);
  const Tensor here = room(100);
  EXPECT_EQ(holders(there).at(0).device, kSecond);
  EXPECT_NE(to_string(holders(there).at(0)).find("on test:0"), std::string::npos);
  EXPECT_EQ(holders(here).at(0).device, cpu);
  std::vector<Device> seen;
  for (const TensorInfo& info : live_tensors()) {
    if (info.id == there.id() || info.id == here.id()) seen.push_back(info.device);
  }
  EXPECT_EQ(seen, (std::vector<Device>{kSecond, cpu}));
  there.dispose();
  here.dispose();
  int of_second = 0;
  int of_cpu = 0;
  for (const MemoryEvent& event : recording.events()) ++(event.device == cpu ? of_cpu : of_second);
  EXPECT_EQ(of_second, 4) << "allocate, create, dispose, free";
  EXPECT_EQ(of_cpu, 4);
}

TEST_F(SecondDevice, ALeakThereIsFound) {
  LeakGuard guard("loop", {.warm_up = 2, .patience = 16});
  std::vector<Tensor> leak;
  EXPECT_THROW(
      for (int i = 0; i < 100; ++i) {
        leak.push_back(room_on(kSecond, 100));
        guard.mark();
      },
      LeakError);
}

TEST_F(SecondDevice, ThreadsShareIt) {
  const Unmoved here(cpu);
  constexpr int kThreads = 4;
  std::vector<std::vector<Tensor>> kept(kThreads);
  on_threads(kThreads, [&](int t) {
    Random random(static_cast<std::uint64_t>(t) + 1);
    std::vector<Tensor> mine;
    for (int i = 0; i < test::rounds(2000); ++i) {
      if (mine.size() < 20) mine.push_back(room_on(kSecond, random.below(50'000)));
      const auto at =
          static_cast<std::size_t>(random.below(static_cast<std::int64_t>(mine.size())));
      EXPECT_TRUE(mine[at].device() == kSecond);
      if (random.below(2) == 0) mine.erase(mine.begin() + static_cast<std::ptrdiff_t>(at));
      if (random.below(200) == 0) trim(kSecond);
    }
    kept[static_cast<std::size_t>(t)] = std::move(mine);
  });
  std::int64_t bytes = 0;
  std::int64_t tensors = 0;
  for (const auto& mine : kept) {
    for (const Tensor& tensor : mine)
      bytes += static_cast<std::int64_t>(tensor.nbytes()), ++tensors;
  }
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes + bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors + tensors);
  kept.clear();
  EXPECT_EQ(memory(kSecond).bytes, before_.bytes);
  EXPECT_EQ(memory(kSecond).tensors, before_.tensors);
}

TEST_F(SecondDevice, ItsPeakIsExactOnAnyNumberOfThreads) {
  on_threads(4, [](int) { const Tensor one = room_on(kSecond, 10); });
  const MemoryRegion region(kSecond);
  std::vector<Tensor> one_each(4);
  on_threads(4, [&](int t) { one_each[static_cast<std::size_t>(t)] = room_on(kSecond, 1000); });
  EXPECT_EQ(region.peak_bytes(), 4000);
}

}  // namespace
}  // namespace tenure
