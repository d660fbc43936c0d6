#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tenure/memory/budget.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/fence.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/make.h"
#include "tests/support/share.h"

// Several threads use the same tensors in every way at once. What these tests expect is little:
// that nobody reads data that is gone, and that afterwards the ledger is where it was. What they
// are for is to be run under ThreadSanitizer and AddressSanitizer, and with TENURE_NO_MEMBARRIER.

namespace tenure {
namespace {

using test::on_thread;
using test::on_threads;
using test::Random;
using test::room;
using test::share;

constexpr std::int64_t kElements = 48;

Tensor numbered(std::int32_t number) {
  return test::make<std::int32_t>({kElements}, std::vector<std::int32_t>(kElements, number));
}

/// Computes with the data if it is there, and checks that it stays while it is computed with.
bool reads(const Tensor& tensor, std::int32_t number) {
  Pin pin;
  if (!pin.try_take(tensor.body("reads()"))) return false;
  const auto* const data = static_cast<const std::int32_t*>(pin.data());
  for (std::int64_t i = 0; i < kElements; ++i) EXPECT_EQ(data[i], number);
  return true;
}

/// As an op does with a moved input: computes in its memory. Empty if the data is gone.
Tensor doubled(Tensor tensor) {
  TensorBody& body = tensor.body("doubled()");
  Pin pin;
  if (!pin.try_take(body)) return {};
  PendingTensor pending;
  pending.borrow(mem::this_thread(), body.dtype, body.shape, body);
  auto* const data = static_cast<std::int32_t*>(pending.data());
  for (std::int64_t i = 0; i < kElements; ++i) data[i] *= 2;
  return pending.finish("doubled", Site::current());
}

void spin(std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// Checks that live tensors, storages and bytes are what they were.
class Unchanged {
 public:
  void check() const {
    const mem::Counts now = mem::counts();
    EXPECT_EQ(now.tensors, before_.tensors);
    EXPECT_EQ(now.storages, before_.storages);
    EXPECT_EQ(now.bytes, before_.bytes);
  }
  ~Unchanged() { check(); }

 private:
  mem::Counts before_ = mem::counts();
};

/// Two threads that meet twice in every round: `first(round)` runs beside `second(round)`.
template <class First, class Second, class Between>
void in_step(int rounds, const First& first, const Second& second, const Between& between) {
  std::barrier meet(2);
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      meet.arrive_and_wait();
      second(i);
      meet.arrive_and_wait();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    meet.arrive_and_wait();
    first(i);
    meet.arrive_and_wait();
    between(i);
  }
  other.join();
}

TEST(Threads, DisposalBesideTheMakersComputation) {
  const Unchanged unchanged;
  const std::int64_t before = mem::counts().bytes;
  Tensor current = numbered(0);
  in_step(
      test::rounds(8000),
      [&](int i) {
        while (reads(current, i)) {
        }
      },
      [&](int i) {
        spin(i % 300);
        current.dispose();
      },
      [&](int i) {
        EXPECT_EQ(mem::counts().bytes, before) << "nobody dropped the data";
        current = numbered(i + 1);
      });
  current = Tensor();
}

TEST(Threads, DisposalBesideAGuestsComputation) {
  const Unchanged unchanged;
  Tensor current = numbered(0);
  in_step(
      test::rounds(8000),
      [&](int i) {
        spin(i % 300);
        current.dispose();
      },
      [&](int i) {
        while (reads(current, i)) {
        }
      },
      [&](int i) { current = numbered(i + 1); });
  current = Tensor();
}

TEST(Threads, ViewsBesideDisposal) {
  const Unchanged unchanged;
  Tensor current = numbered(0);
  in_step(
      test::rounds(5000),
      [&](int i) {
        spin(i % 200);
        current.dispose();
      },
      [&](int i) {
        try {
          const Tensor view = share(current);
          EXPECT_TRUE(reads(view, i)) << "a view holds the data";
        } catch (const DisposedError& error) {
          EXPECT_EQ(error.id(), current.id());
        }
      },
      [&](int i) { current = numbered(i + 1); });
  current = Tensor();
}

TEST(Threads, AScopeEndsWhileAnotherThreadEndsItsTensors) {
  const Unchanged unchanged;
  std::atomic<int> round{-1};
  Tensor handed;
  std::thread other([&] {
    for (int i = 0; i < test::rounds(8000); ++i) {
      while (round != i) std::this_thread::yield();
      Tensor mine = std::move(handed);
      round = -1;
      spin(i % 150);
      reads(mine, i);
    }
  });
  for (int i = 0; i < test::rounds(8000); ++i) {
    const Scope scope;
    const Tensor neighbour = room(8);
    handed = numbered(i);
    round = i;
    while (round == i) std::this_thread::yield();
    spin(i % 100);
  }
  other.join();
}

TEST(Threads, AScopeEndsWhileAnotherThreadComputesInPlace) {
  const Unchanged unchanged;
  std::atomic<int> round{-1};
  std::atomic<int> computed{0};
  Tensor handed;
  std::thread other([&] {
    for (int i = 0; i < test::rounds(8000); ++i) {
      while (round != i) std::this_thread::yield();
      Tensor mine = std::move(handed);
      round = -1;
      spin(i % 120);
      const Tensor result = doubled(std::move(mine));
      if (!result.defined()) continue;
      ++computed;
      EXPECT_FALSE(result.is_disposed());
      EXPECT_TRUE(reads(result, 2 * i));
    }
  });
  for (int i = 0; i < test::rounds(8000); ++i) {
    {
      const Scope scope;
      handed = numbered(i);
      round = i;
      while (round == i) std::this_thread::yield();
      spin(i % 90);
    }
    // The memory must not be handed out again while the result lives in it.
    const Tensor next = numbered(-1);
    EXPECT_TRUE(reads(next, -1));
  }
  other.join();
}

TEST(Threads, EverythingAtOnce) {
  const Unchanged unchanged;
  constexpr int kThreads = 4;
  constexpr int kSlots = 8;
  struct Slot {
    std::mutex mutex;
    Tensor tensor;
    std::int32_t number = 0;
  };
  std::array<Slot, kSlots> slots;
  on_threads(kThreads, [&](int thread) {
    Random random(static_cast<std::uint64_t>(thread) + 100);
    for (int i = 0; i < test::rounds(8000); ++i) {
      const Scope scope;
      Slot& slot = slots[static_cast<std::size_t>(random.below(kSlots))];
      Tensor tensor;
      std::int32_t number = 0;
      {
        const std::lock_guard lock(slot.mutex);
        if (!slot.tensor.defined() || slot.tensor.is_disposed()) {
          slot.number = thread * 1'000'000 + i;
          slot.tensor = random.below(2) == 0 ? keep(numbered(slot.number)) : numbered(slot.number);
        }
        tensor = slot.tensor;
        number = slot.number;
        if (random.below(10) == 0) slot.tensor = Tensor();
      }
      switch (random.below(7)) {
        case 0:
          tensor.dispose();
          break;
        case 1:
          keep(tensor);
          break;
        case 2:
          if (Tensor copy = tensor; random.below(2) == 0) tensor = std::move(copy);
          break;
        case 3:
          try {
            EXPECT_TRUE(reads(share(tensor), number));
          } catch (const DisposedError&) {
          }
          break;
        case 4:
          EXPECT_TRUE(reads(doubled(numbered(number)), 2 * number));
          break;
        case 5:
          tensor.set_name("thread " + std::to_string(thread));
          static_cast<void>(to_string(tensor));
          break;
        default:
          reads(tensor, number);
      }
    }
  });
  for (Slot& slot : slots) slot.tensor = Tensor();
}

TEST(Threads, CensusWhileTensorsComeAndGo) {
  const Unchanged unchanged;
  const Tensor witness = test::counting({3});
  const Tensor view = share(witness);
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < 3; ++t) {
    workers.emplace_back([&, t] {
      Random random(static_cast<std::uint64_t>(t));
      std::vector<Tensor> some(20);
      while (!stop) {
        const Scope scope;
        Tensor& tensor = some[static_cast<std::size_t>(random.below(20))];
        tensor = room(random.below(random.below(50) == 0 ? 100'000 : 300));
        if (random.below(3) == 0) tensor.set_name("name");
        if (random.below(3) == 0) keep(tensor);
        if (random.below(5) == 0) tensor = share(tensor);
      }
    });
  }
  for (int i = 0; i < test::rounds(1500); ++i) {
    const std::vector<TensorInfo> all = live_tensors();
    EXPECT_GE(all.size(), 2u);
    for (const TensorInfo& info : all) {
      EXPECT_NE(info.id, 0u);
      EXPECT_GE(info.storage_bytes, 0);
      EXPECT_TRUE(info.name.empty() || info.name == "name");
    }
    EXPECT_EQ(holders(witness).size(), 2u);
    const MemoryStats stats = memory();
    EXPECT_GE(stats.bytes, 12);
    if (i % 100 == 0) trim();
    if (i % 50 == 0) on_thread([] { EXPECT_FALSE(live_tensors().empty()); });
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

TEST(Threads, SeveralCensusesTakeTurns) {
  const Tensor tensor = room(1);
  on_threads(4, [&](int) {
    for (int i = 0; i < test::rounds(1000); ++i) {
      const Tensor mine = room(1);
      EXPECT_EQ(holders(mine).size(), 1u);
    }
  });
}

// Those who look leave no moment between two looks; who makes tensors waits for nearly each of
// them.
TEST(Threads, LooksWithoutAPauseLeaveTheOthersTheirTurn) {
  constexpr int kLookers = 3;
  const int made = test::rounds(2000);
  std::vector<Tensor> many;
  for (int i = 0; i < 300; ++i) many.push_back(room(1));
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> looks = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kLookers; ++t) {
    threads.emplace_back([&] {
      for (; !stop; ++looks) static_cast<void>(live_tensors());
    });
  }
  while (looks < kLookers) std::this_thread::yield();
  const std::int64_t before = looks;
  for (int i = 0; i < made; ++i) room(1);
  // It may have no core for a while, in which they go on.
  EXPECT_LT(looks - before, 20 * made);
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

// What began on one thread ends on another one, and who counts may be stopped between the two.
TEST(Threads, NothingEndsThatDidNotBegin) {
  constexpr int kMakers = 3;
  constexpr std::size_t kPlaces = 8;
  std::array<std::atomic<Tensor*>, kPlaces> places{};
  std::atomic<bool> stop = false;
  std::vector<std::thread> makers;
  for (std::size_t t = 0; t < kMakers; ++t) {
    makers.emplace_back([&, t] {
      for (std::size_t i = t; !stop; ++i) {
        delete places[i % kPlaces].exchange(
            new Tensor(room(static_cast<std::int64_t>(i % 50 + 1))));
      }
    });
  }
  for (int i = 0; i < test::rounds(200'000); ++i) {
    const MemoryStats stats = memory();
    ASSERT_GE(stats.tensors, 0);
    ASSERT_GE(stats.storages, 0);
    ASSERT_LE(stats.frees, stats.allocations);
  }
  stop = true;
  for (std::thread& maker : makers) maker.join();
  for (std::atomic<Tensor*>& place : places) delete place.load();
}

TEST(Threads, ErrorsWhileOthersAllocate) {
  on_threads(3, [&](int) {
    const Budget budget("thread", 2000);
    for (int i = 0; i < test::rounds(500); ++i) {
      const Tensor fits = room(1500);
      EXPECT_THROW(room(1000), OutOfMemory);
    }
  });
}

TEST(Threads, ModeIsAsAsked) {
  if (std::getenv("TENURE_NO_MEMBARRIER") != nullptr) {
    EXPECT_FALSE(mem::has_asymmetric_fence());
  }
}

}  // namespace
}  // namespace tenure
