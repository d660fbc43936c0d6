#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tests/support/second_memory.h"
#include "tests/support/share.h"

// A device that computes later (see the Note in pool/source.h): what is disposed while work for it
// is queued leaves the ledger at once and the memory in order.

namespace tenure {
namespace {

using test::data_of;
using test::Random;
using test::room_on;

constexpr Device kQueued{.kind = Device::Kind::test, .index = 1};

/// Runs what it is given on a thread of its own, in order, while its gate is open.
class Queue {
 public:
  Queue() : thread_([this] { run(); }) {}
  ~Queue() {
    open();
    push(nullptr);
    thread_.join();
  }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void push(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
    changed_.notify_all();
  }
  void close() { set_open(false); }
  void open() { set_open(true); }
  void finish() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.empty(); });
  }

 private:
  void set_open(bool is_open) {
    const std::lock_guard lock(mutex_);
    is_open_ = is_open;
    changed_.notify_all();
  }
  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return is_open_ && !waiting_.empty(); });
      const std::function<void()> work = waiting_.front();
      lock.unlock();
      if (work) work();
      lock.lock();
      waiting_.pop_front();
      changed_.notify_all();
      if (!work) return;
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;  // the first is being done
  bool is_open_ = true;
  std::thread thread_;
};

/// The device's memory, which goes only when the queue is through with it.
class QueuedMemory final : public test::SecondMemory {
 public:
  explicit QueuedMemory(Queue& queue)
      : SecondMemory(std::size_t{256} << 20, PROT_READ | PROT_WRITE), queue_(queue) {}
  void unmap(void* begin, std::size_t bytes) noexcept override {
    queue_.finish();
    SecondMemory::unmap(begin, bytes);
  }

 private:
  Queue& queue_;
};

Queue& queue() {
  static Queue& made = []() -> Queue& {
    auto& fresh = *new Queue;  // it outlives all that is static, as the device does
    mem::add_device(kQueued, *new QueuedMemory(fresh));
    return fresh;
  }();
  return made;
}

Tensor filled(std::int64_t bytes, int value) {
  Tensor tensor = room_on(kQueued, bytes);
  auto* const data = const_cast<void*>(data_of(tensor));
  queue().push([=] { std::memset(data, value, static_cast<std::size_t>(bytes)); });
  return tensor;
}

/// Checks when its turn comes that the bytes are `value`, some of them; counts those that are not.
void expect_value(const Tensor& tensor, int value, int& wrong) {
  const auto* const data = static_cast<const unsigned char*>(data_of(tensor));
  const auto bytes = static_cast<std::int64_t>(tensor.nbytes());
  queue().push([=, &wrong] {
    for (std::int64_t i = 0; i < bytes; i += 509) wrong += data[i] != value;
  });
}

TEST(DeviceQueue, WhatIsDisposedLeavesTheLedgerAtOnce) {
  queue().close();
  const MemoryStats before = memory(kQueued);
  const Tensor tensor = filled(100'000, 1);
  EXPECT_EQ(memory(kQueued).bytes, before.bytes + 100'000);
  tensor.dispose();
  EXPECT_EQ(memory(kQueued).bytes, before.bytes) << "although nothing has been computed";
  EXPECT_EQ(memory(kQueued).tensors, before.tensors);
  queue().open();
  queue().finish();
}

TEST(DeviceQueue, ABlockIsReusedAtOnceAndInOrder) {
  int wrong = 0;
  queue().close();
  const void* first = nullptr;
  {
    const Tensor a = filled(100'000, 1);
    first = data_of(a);
    expect_value(a, 1, wrong);
  }
  const Tensor b = filled(100'000, 2);
  EXPECT_EQ(data_of(b), first) << "a program that runs ahead needs no more memory";
  expect_value(b, 2, wrong);
  queue().open();
  queue().finish();
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceQueue, AProgramThatRunsAheadNeedsNoMoreMemory) {
  trim(kQueued);
  int wrong = 0;
  queue().close();
  for (int i = 0; i < 200; ++i) {
    const Tensor temporary = filled(1'000'000, i % 251);
    expect_value(temporary, i % 251, wrong);
  }
  EXPECT_LT(memory(kQueued).reserved_bytes, 10'000'000);
  queue().open();
  queue().finish();
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceQueue, MemoryGoesBackBehindTheWorkThatUsesIt) {
  trim(kQueued);
  int wrong = 0;
  queue().close();
  {
    const Tensor large = filled(10'000'000, 7);
    expect_value(large, 7, wrong);
  }
  std::thread opener([] { queue().open(); });
  trim(kQueued);
  opener.join();
  EXPECT_EQ(memory(kQueued).reserved_bytes, 0);
  EXPECT_EQ(wrong, 0);
}

TEST(DeviceQueue, RandomProgramsComputeWhatTheyWould) {
  Random random(3);
  int wrong = 0;
  for (int round = 0; round < test::rounds(20); ++round) {
    if (round % 2 == 0) queue().close();
    std::vector<std::pair<Tensor, int>> live;
    for (int i = 0; i < 200; ++i) {
      if (live.size() < 10 && random.below(2) == 0) {
        const int value = static_cast<int>(random.below(256));
        live.emplace_back(filled(1 + random.below(60'000), value), value);
      } else if (!live.empty()) {
        const auto at =
            static_cast<std::size_t>(random.below(static_cast<std::int64_t>(live.size())));
        expect_value(live[at].first, live[at].second, wrong);
        if (random.below(2) == 0) live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    }
    live.clear();
    queue().open();
    if (random.below(4) == 0) trim(kQueued);
    queue().finish();
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(memory(kQueued).bytes, 0);
}

}  // namespace
}  // namespace tenure
