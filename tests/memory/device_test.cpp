#include "tenure/memory/pool/devices.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/leak_guard.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/recording.h"
#include "tenure/memory/region.h"
#include "tenure/memory/scope.h"
#include "tenure/tensor/introspect.h"
#include "tests/memory/second_device.h"
#include "tests/support/share.h"

// What lies in a second memory is counted there.

namespace tenure {
namespace {

using test::data_of;
using test::kSecond;
using test::room;
using test::room_on;
using test::SecondDevice;
using test::share;
using test::Unmoved;

constexpr Device kAbsent{.kind = Device::Kind::cuda, .index = 7};

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

}  // namespace
}  // namespace tenure
