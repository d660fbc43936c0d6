#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/memory/budget.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/scope.h"
#include "tests/support/second_memory.h"
#include "tests/support/share.h"

// Random programs over two devices beside a model that adds up, slowly and obviously.

namespace tenure {
namespace {

using test::kSecond;
using test::Random;

constexpr std::array<Device, 2> kBoth{cpu, kSecond};

struct Model {
  struct Counts {
    std::int64_t bytes = 0;
    std::int64_t peak = 0;
    void add(std::int64_t change) { bytes += change, peak = std::max(peak, bytes); }
  };
  struct OfDevice {
    Counts total;
    std::array<Counts, kCategories> categories{};
    std::int64_t tensors = 0;
    std::int64_t storages = 0;
    std::int64_t allocations = 0;
    std::int64_t frees = 0;
  };
  std::array<OfDevice, 2> devices;
};

/// A storage as the model sees it: as long as one of its tensors has data.
struct Held {
  std::size_t device = 0;
  Category category = Category::activation;
  std::int64_t bytes = 0;
  std::vector<int> budgets;  // by number, that it was charged to
  int tensors = 0;
};

class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {
    for (std::size_t d = 0; d < 2; ++d) {
      reset_peak(kBoth[d]);
      before_[d] = memory(kBoth[d]);
    }
  }
  ~Program() {
    while (!budgets_.empty()) budgets_.pop_back();
  }

  void step() {
    switch (random_.below(9)) {
      case 0:
      case 1:
      case 2:
        return allocate();
      case 3:
        return view();
      case 4:
      case 5:
        return end(false);
      case 6:
        return end(true);
      case 7:
        return random_.below(2) == 0 ? recategorize() : change_budgets();
      default:
        return rarely();
    }
  }

  void check() const {
    for (std::size_t d = 0; d < 2; ++d) {
      const Model::OfDevice& model = model_.devices[d];
      const MemoryStats& before = before_[d];
      const MemoryStats now = memory(kBoth[d]);
      ASSERT_EQ(now.bytes - before.bytes, model.total.bytes);
      ASSERT_EQ(now.peak - before.bytes, model.total.peak);
      ASSERT_EQ(now.tensors - before.tensors, model.tensors);
      ASSERT_EQ(now.storages - before.storages, model.storages);
      ASSERT_EQ(now.allocations - before.allocations, model.allocations);
      ASSERT_EQ(now.frees - before.frees, model.frees);
      for (std::size_t c = 0; c < kCategories; ++c) {
        ASSERT_EQ(now.categories[c].bytes - before.categories[c].bytes, model.categories[c].bytes);
        ASSERT_EQ(now.categories[c].peak - before.categories[c].bytes, model.categories[c].peak);
      }
    }
    for (const auto& [number, budget] : budgets_) {
      std::int64_t used = 0;
      for (const auto& [serial, held] : storages_) {
        if (std::find(held.budgets.begin(), held.budgets.end(), number) != held.budgets.end()) {
          used += held.bytes;
        }
      }
      ASSERT_EQ(static_cast<std::int64_t>(budget->used()), used);
    }
    check_places();
  }

 private:
  /// Blocks of the second memory lie there, and apart.
  void check_places() const {
    std::map<const std::byte*, std::int64_t> places;
    for (const Tensor& tensor : tensors_) {
      if (tensor.device() != kSecond || tensor.is_disposed() || tensor.nbytes() == 0) continue;
      const auto* const data = static_cast<const std::byte*>(test::data_of(tensor));
      ASSERT_TRUE(test::second_memory().has(data));
      places[data] = static_cast<std::int64_t>(tensor.nbytes());  // views begin where it does
    }
    for (auto it = places.begin(); it != places.end() && std::next(it) != places.end(); ++it) {
      ASSERT_LE(it->first + it->second, std::next(it)->first);
    }
  }

  static std::uint64_t serial_of(const Tensor& tensor) {
    return tensor.body("test").storage_serial();
  }

  void allocate() {
    if (tensors_.size() > 40) return end(false);
    Held held;
    held.device = static_cast<std::size_t>(random_.below(2));
    held.category = static_cast<Category>(random_.below(kCategories));
    held.bytes = random_.below(random_.below(5) == 0 ? 400'000 : 3000);
    const Device device = kBoth[held.device];
    std::size_t room = kNoLimit;
    for (const auto& [number, budget] : budgets_) {
      if (budget->device() != device) continue;
      held.budgets.push_back(number);
      room = std::min(room, budget->available());
    }
    held.tensors = 1;
    const CategoryScope category(held.category);
    try {
      tensors_.push_back(test::room_on(device, held.bytes));
      ASSERT_LE(static_cast<std::size_t>(held.bytes), room);
    } catch (const OutOfMemory& error) {
      ASSERT_EQ(error.cause(), OutOfMemory::Cause::budget);
      ASSERT_EQ(error.device(), name_of(device));
      ASSERT_GT(static_cast<std::size_t>(held.bytes), room);
      return;
    }
    Model::OfDevice& model = model_.devices[held.device];
    model.total.add(held.bytes);
    model.categories[static_cast<std::size_t>(held.category)].add(held.bytes);
    ++model.tensors, ++model.storages, ++model.allocations;
    storages_[serial_of(tensors_.back())] = held;
  }

  Tensor* some() {
    if (tensors_.empty()) return nullptr;
    return &tensors_[static_cast<std::size_t>(
        random_.below(static_cast<std::int64_t>(tensors_.size())))];
  }

  void view() {
    const Tensor* const of = some();
    if (of == nullptr || of->is_disposed()) return;
    Held& held = storages_.at(serial_of(*of));
    ++held.tensors;
    ++model_.devices[held.device].tensors;
    tensors_.push_back(test::share(*of));
  }

  /// By dispose() or with its handle.
  void end(bool disposes) {
    Tensor* const tensor = some();
    if (tensor == nullptr) return;
    if (!tensor->is_disposed()) {
      const auto it = storages_.find(serial_of(*tensor));
      Held& held = it->second;
      Model::OfDevice& model = model_.devices[held.device];
      --model.tensors;
      if (--held.tensors == 0) {
        model.total.add(-held.bytes);
        model.categories[static_cast<std::size_t>(held.category)].add(-held.bytes);
        --model.storages, ++model.frees;
        storages_.erase(it);
      }
    }
    if (disposes) return tensor->dispose();
    tensors_.erase(tensors_.begin() + (tensor - tensors_.data()));
  }

  void recategorize() {
    const Tensor* const tensor = some();
    if (tensor == nullptr || tensor->is_disposed()) return;
    Held& held = storages_.at(serial_of(*tensor));
    if (held.tensors != 1) return;
    const auto to = static_cast<Category>(random_.below(kCategories));
    Model::OfDevice& model = model_.devices[held.device];
    model.categories[static_cast<std::size_t>(held.category)].add(-held.bytes);
    model.categories[static_cast<std::size_t>(to)].add(held.bytes);
    held.category = to;
    const Pin pin(tensor->body("test"), "test", Site::current());
    pin.storage()->set_category(mem::this_thread(), to);
  }

  void change_budgets() {
    if (budgets_.size() < 4 && random_.below(2) == 0) {
      const Device device = kBoth[static_cast<std::size_t>(random_.below(2))];
      const auto limit = static_cast<std::size_t>(random_.below(2'000'000));
      budgets_.emplace_back(next_budget_++, std::make_unique<Budget>("b", limit, device));
    } else if (!budgets_.empty()) {
      budgets_.erase(budgets_.begin() + random_.below(static_cast<std::int64_t>(budgets_.size())));
    }
  }

  void rarely() {
    if (random_.below(20) != 0) return;
    const auto d = static_cast<std::size_t>(random_.below(2));
    if (random_.below(2) == 0) return trim(kBoth[d]);
    reset_peak(kBoth[d]);
    Model::OfDevice& model = model_.devices[d];
    model.total.peak = model.total.bytes;
    for (Model::Counts& category : model.categories) category.peak = category.bytes;
  }

  Random random_;
  std::array<MemoryStats, 2> before_;
  Model model_;
  std::vector<Tensor> tensors_;
  std::map<std::uint64_t, Held> storages_;
  std::vector<std::pair<int, std::unique_ptr<Budget>>> budgets_;
  int next_budget_ = 0;
};

TEST(DevicePrograms, CountAsAModelDoes) {
  test::second_memory();
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Program program(seed);
    for (int i = 0; i < test::rounds(1000); ++i) {
      program.step();
      program.check();
      if (HasFatalFailure()) FAIL() << "seed " << seed << ", step " << i;
    }
  }
}

TEST(Fork, AChildGoesOnWithAllDevices) {
  test::second_memory();
  const Tensor there = test::room_on(kSecond, 1000);
  const std::int64_t before = memory(kSecond).bytes;
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    bool is_right = memory(kSecond).bytes == before;
    {
      const Tensor more = test::room_on(kSecond, 500);
      is_right = is_right && memory(kSecond).bytes == before + 500;
    }
    there.dispose();
    trim();
    _exit(is_right && memory(kSecond).bytes == before - 1000 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(memory(kSecond).bytes, before);
}

TEST(Fork, ComesWhileThreadsAllocateOnAllDevices) {
  test::second_memory();
  std::atomic<bool> ends{false};
  std::vector<std::thread> threads;
  for (const Device device : {cpu, kSecond, kSecond}) {
    threads.emplace_back([&ends, device] {
      while (!ends) test::room_on(device, 100'000);
    });
  }
  for (int i = 0; i < test::rounds(30); ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (const Device device : kBoth) test::room_on(device, 50'000);
      trim();
      _exit(0);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "round " << i;
  }
  ends = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tenure
