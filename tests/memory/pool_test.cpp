#include "tenure/memory/pool/pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tenure/memory/holders/storage.h"
#include "tenure/memory/ledger.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

namespace tenure {
namespace {

using test::data_of;
using test::on_thread;
using test::room;

TEST(Pool, AlignsEverySize) {
  std::vector<Tensor> all;
  for (std::int64_t bytes = 0; bytes < 70'000; bytes += 1 + bytes / 7) {
    all.push_back(room(bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data_of(all.back())) % 64, 0u) << bytes;
    std::memset(const_cast<void*>(data_of(all.back())), 0x5a, static_cast<std::size_t>(bytes));
  }
  for (const Tensor& tensor : all) {
    for (const std::uint8_t byte : tensor.to_vector<std::uint8_t>()) ASSERT_EQ(byte, 0x5a);
  }
}

TEST(Pool, ReusesABlockAtOnce) {
  for (const std::int64_t bytes : {1, 100, 4000, 32 * 1024 - 64, 32 * 1024, 1'000'000}) {
    const void* first = nullptr;
    {
      const Tensor tensor = room(bytes);
      first = data_of(tensor);
    }
    EXPECT_EQ(data_of(room(bytes)), first) << bytes;
  }
}

TEST(Pool, BlocksOfOneSizeDoNotOverlap) {
  std::vector<Tensor> all;
  for (std::int64_t i = 0; i < 5000; ++i) {
    all.push_back(test::make<std::int64_t>({3}, {i, i, i}));
  }
  for (std::int64_t i = 0; i < 5000; ++i) {
    EXPECT_EQ(all[static_cast<std::size_t>(i)].to_vector<std::int64_t>(),
              (std::vector<std::int64_t>{i, i, i}));
  }
}

TEST(Pool, TrimReturnsToTheSystem) {
  trim();
  const MemoryStats before = memory();
  {
    std::vector<Tensor> all;
    for (int i = 0; i < 2000; ++i) all.push_back(room(20'000));
    all.push_back(room(100'000'000));
    EXPECT_GE(memory().reserved_bytes, before.reserved_bytes + 139'000'000);
  }
  EXPECT_GT(memory().cached_bytes, 40'000'000);
  trim();
  EXPECT_EQ(memory().reserved_bytes, before.reserved_bytes);
  EXPECT_LE(memory().cached_bytes, before.cached_bytes);
  EXPECT_EQ(memory().metadata_bytes, before.metadata_bytes);
}

TEST(Pool, TrimLeavesWhatIsInUse) {
  std::vector<Tensor> kept;
  for (int i = 0; i < 3000; ++i) {
    Tensor tensor = test::make<std::int32_t>({2}, {i, -i});
    if (i % 100 == 0) kept.push_back(tensor);
  }
  trim();
  for (int i = 0; i < 30; ++i) {
    EXPECT_EQ(kept[static_cast<std::size_t>(i)].to_vector<std::int32_t>(),
              (std::vector<std::int32_t>{i * 100, -i * 100}));
  }
  kept.clear();
  trim();
}

TEST(Pool, KeepsToItsCacheLimit) {
  const std::size_t usual = cache_limit();
  EXPECT_GT(usual, 0u);
  trim();
  set_cache_limit(0);
  { const Tensor large = room(50'000'000); }
  EXPECT_LT(memory().cached_bytes, 5'000'000);
  {
    std::vector<Tensor> all;
    for (int i = 0; i < 20'000; ++i) all.push_back(room(1000));
  }
  EXPECT_LT(memory().cached_bytes, 12'000'000) << "small blocks pile up";
  set_cache_limit(usual);
  EXPECT_EQ(cache_limit(), usual);
}

TEST(Pool, AbsurdSizesLeaveEverythingIntact) {
  const Tensor witness = test::counting({1000});
  const MemoryStats before = memory();
  for (const int bits : {50, 61, 62}) {
    try {
      room(std::int64_t{1} << bits);
      ADD_FAILURE() << "2^" << bits << " bytes were had";
    } catch (const OutOfMemory& error) {
      EXPECT_EQ(error.cause(), OutOfMemory::Cause::system);
      EXPECT_EQ(error.requested(), std::size_t{1} << bits);
      EXPECT_EQ(error.facts().used, static_cast<std::size_t>(before.bytes));
    }
  }
  const MemoryStats after = memory();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.allocations, before.allocations);
  EXPECT_EQ(after.peak, before.peak);
  EXPECT_EQ(witness.to_vector<float>()[999], 999);
  EXPECT_EQ(room(1000).nbytes(), 1000u);
}

/// Hands tensors from one thread to another.
class Channel {
 public:
  void send(Tensor tensor) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_.size() < 64; });
    waiting_.push_back(std::move(tensor));
    changed_.notify_all();
  }
  Tensor receive() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !waiting_.empty(); });
    Tensor tensor = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.notify_all();
    return tensor;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tensor> waiting_;
};

TEST(Pool, FreeingOnAnotherThreadDoesNotGrow) {
  Channel channel;
  const int warm_up = test::rounds(5000);
  const int rounds = test::rounds(50'000);
  MemoryStats before;
  const auto size = [](int i) { return std::int64_t{10} + i % 7 * 1500; };
  std::thread consumer([&] {
    for (int i = 0; i < warm_up + rounds; ++i) {
      const Tensor tensor = channel.receive();
      EXPECT_EQ(tensor.size(), size(i));
    }
  });
  for (int i = 0; i < warm_up + rounds; ++i) {
    if (i == warm_up) before = memory();
    channel.send(room(size(i)));
  }
  consumer.join();
  const MemoryStats after = memory();
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  // One slab more or less: which blocks lie in whose bin depends on the moment.
  EXPECT_LE(after.metadata_bytes, before.metadata_bytes + 2 * 65536);
}

TEST(Pool, EndedThreadsLeaveTheirCachesAndContexts) {
  const auto contexts = [] {
    int n = 0;
    for (const mem::ThreadContext* c = mem::all_contexts(); c != nullptr; c = c->next) ++n;
    return n;
  };
  const auto work = [] {
    std::vector<Tensor> some;
    for (int i = 0; i < 50; ++i) some.push_back(room(i * 100));
  };
  on_thread(work);
  const int before_contexts = contexts();
  const MemoryStats before = memory();
  for (int i = 0; i < test::rounds(1000); ++i) on_thread(work);
  EXPECT_EQ(contexts(), before_contexts);
  const MemoryStats after = memory();
  EXPECT_EQ(after.bytes, before.bytes);
  EXPECT_EQ(after.tensors, before.tensors);
  EXPECT_EQ(after.reserved_bytes, before.reserved_bytes);
  EXPECT_EQ(after.metadata_bytes, before.metadata_bytes);
}

TEST(Pool, ThreadLocalTensorsOutliveTheirContext) {
  const MemoryStats before = memory();
  for (int i = 0; i < 10; ++i) {
    on_thread([] {
      thread_local Tensor last;
      last = room(5000);
    });
  }
  EXPECT_EQ(memory().bytes, before.bytes);
  EXPECT_EQ(memory().tensors, before.tensors);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(Pool, FreedBlocksArePoisoned) {
  for (const std::int64_t bytes : {100, 5000, 100'000}) {
    const char* data = nullptr;
    {
      const Tensor tensor = room(bytes);
      data = static_cast<const char*>(data_of(tensor));
      EXPECT_EQ(__asan_region_is_poisoned(const_cast<char*>(data), static_cast<std::size_t>(bytes)),
                nullptr);
      EXPECT_TRUE(__asan_address_is_poisoned(data + bytes)) << "one past the end, " << bytes;
    }
    for (const std::int64_t at : {std::int64_t{0}, bytes / 2, bytes - 1}) {
      EXPECT_TRUE(__asan_address_is_poisoned(data + at)) << bytes << " at " << at;
    }
  }
}

TEST(PoolDeathTest, AStalePointerIsReported) {
  EXPECT_DEATH(
      {
        Tensor tensor = test::counting({100});
        const float* const stale = tensor.span<float>().data();
        tensor.dispose();
        volatile float value = stale[3];
        static_cast<void>(value);
      },
      "use-after-poison");
}
#endif

}  // namespace
}  // namespace tenure
