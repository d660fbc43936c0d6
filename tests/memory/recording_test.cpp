#include "tenure/memory/recording.h"

#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <map>
#include <set>
#include <thread>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/memory/scope.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using Kind = MemoryEvent::Kind;
using test::on_thread;
using test::on_threads;
using test::room;
using test::share;

std::vector<Kind> kinds(const std::vector<MemoryEvent>& events) {
  std::vector<Kind> result;
  for (const MemoryEvent& event : events) result.push_back(event.kind);
  return result;
}

TEST(Recording, TellsATensorsLife) {
  const Recording recording;
  std::uint64_t id = 0;
  Site made;
  Site gone;
  {
    const Tensor tensor = room(100);
    id = tensor.id();
    made = tensor.created();
    gone = Site::current(), tensor.dispose(gone);
    tensor.dispose();
  }
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(kinds(events), (std::vector<Kind>{Kind::allocate, Kind::create, Kind::dispose,
                                              Kind::free, Kind::destroy}));
  EXPECT_EQ(events[0].bytes, 100);
  EXPECT_EQ(events[0].tensor, 0u);
  EXPECT_EQ(events[1].tensor, id);
  EXPECT_STREQ(events[1].op, "room");
  EXPECT_EQ(events[1].site.line(), made.line());
  EXPECT_EQ(events[2].site.line(), gone.line());
  EXPECT_EQ(events[2].tensor, id);
  EXPECT_EQ(events[3].bytes, 100);
  EXPECT_EQ(events[4].tensor, id);
  for (const int i : {1, 2, 3}) {
    EXPECT_EQ(events[static_cast<std::size_t>(i)].storage, events[0].storage);
  }
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_GE(events[i].time_ns, events[i - 1].time_ns);
    EXPECT_EQ(events[i].thread, events[0].thread);
  }
  EXPECT_EQ(recording.dropped(), 0u);
}

TEST(Recording, ViewsShareAStorage) {
  const Recording recording;
  {
    const Tensor base = room(8);
    const Tensor view = share(base);
    base.dispose();
  }
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(kinds(events),
            (std::vector<Kind>{Kind::allocate, Kind::create, Kind::create, Kind::dispose,
                               Kind::free, Kind::destroy, Kind::destroy}));
  EXPECT_EQ(events[2].storage, events[1].storage);
}

TEST(Recording, ForeignMemoryIsNeitherAllocatedNorFreed) {
  std::vector<float> mine(10);
  const Recording recording;
  {
    const Tensor tensor = test::borrow(mine, [](void*) {});
  }
  EXPECT_EQ(kinds(recording.events()), (std::vector<Kind>{Kind::create, Kind::destroy}));
}

TEST(Recording, AScopesEndIsADisposal) {
  const Recording recording;
  Tensor outer;
  {
    const Scope scope;
    outer = room(8);
  }
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[2].kind, Kind::dispose);
  EXPECT_EQ(events[2].tensor, outer.id());
}

TEST(Recording, KeepsTheNewest) {
  const Recording recording(10);
  std::uint64_t last = 0;
  for (int i = 0; i < 100; ++i) {
    const Tensor tensor = room(i);
    last = tensor.id();
  }
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(events.size(), 10u);
  EXPECT_EQ(recording.dropped(), 390u);
  EXPECT_EQ(events.back().kind, Kind::destroy);
  EXPECT_EQ(events.back().tensor, last);
  for (std::size_t i = 1; i < events.size(); ++i) {
    EXPECT_GE(events[i].time_ns, events[i - 1].time_ns) << "the ring was not unrolled";
  }
  EXPECT_EQ(events[0].kind, Kind::free);
}

TEST(Recording, ExactlyFullDropsNothing) {
  const Recording recording(4);
  { const Tensor tensor = room(1); }
  EXPECT_EQ(recording.events().size(), 4u);
  EXPECT_EQ(recording.dropped(), 0u);
}

TEST(Recording, OneAtATime) {
  {
    const Recording first(4);
    EXPECT_THROW(Recording(), ValueError);
    { const Tensor tensor = room(1); }
    EXPECT_EQ(first.events().size(), 4u) << "the refused one broke the first";
  }
  EXPECT_THROW(Recording(0), ValueError);
  EXPECT_NO_THROW(Recording());
}

TEST(Recording, StopsWithItsObject) {
  const Tensor before = room(3);
  { const Recording recording; }
  const Tensor between = room(3);
  const Recording recording;
  EXPECT_TRUE(recording.events().empty());
  before.dispose();
  EXPECT_EQ(kinds(recording.events()), (std::vector<Kind>{Kind::dispose, Kind::free}));
}

TEST(Recording, EventsOfManyThreadsAddUp) {
  const int rounds = test::rounds(2000);
  const Recording recording;
  std::barrier all_there(4);  // or one could take over another's context
  on_threads(4, [&](int) {
    mem::this_thread();
    all_there.arrive_and_wait();
    for (int i = 0; i < rounds; ++i) {
      const Tensor tensor = room(i % 500);
      const Tensor view = share(tensor);
      tensor.dispose();
    }
  });
  std::map<Kind, int> counts;
  std::set<std::uint32_t> threads;
  std::set<std::uint64_t> live_storages;
  std::set<std::uint64_t> live_tensors;
  std::int64_t bytes = 0;
  std::int64_t last = 0;
  for (const MemoryEvent& event : recording.events()) {
    ++counts[event.kind];
    threads.insert(event.thread);
    EXPECT_GE(event.time_ns, last);
    last = event.time_ns;
    switch (event.kind) {
      case Kind::allocate:
        EXPECT_TRUE(live_storages.insert(event.storage).second);
        bytes += event.bytes;
        break;
      case Kind::free:
        EXPECT_EQ(live_storages.erase(event.storage), 1u);
        bytes -= event.bytes;
        break;
      case Kind::create:
        EXPECT_TRUE(live_tensors.insert(event.tensor).second);
        EXPECT_EQ(live_storages.count(event.storage), 1u);
        break;
      case Kind::dispose:
        EXPECT_EQ(live_tensors.count(event.tensor), 1u);
        break;
      case Kind::destroy:
        EXPECT_EQ(live_tensors.erase(event.tensor), 1u);
        break;
      case Kind::evict:
      case Kind::recompute:
        ADD_FAILURE() << "no budget evicts";
        break;
    }
  }
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(counts[Kind::allocate], 4 * rounds);
  EXPECT_EQ(counts[Kind::free], 4 * rounds);
  EXPECT_EQ(counts[Kind::create], 8 * rounds);
  EXPECT_EQ(counts[Kind::dispose], 4 * rounds);
  EXPECT_EQ(counts[Kind::destroy], 8 * rounds);
  EXPECT_TRUE(live_storages.empty());
  EXPECT_EQ(bytes, 0);
}

TEST(Recording, BeginsAndEndsWhileThreadsWork) {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) const Tensor tensor = room(10);
  });
  for (int i = 0; i < test::rounds(300); ++i) {
    const Recording recording(100);
    on_thread([] { const Tensor tensor = room(1); });
    EXPECT_GE(recording.events().size(), 4u);
  }
  stop = true;
  worker.join();
}

TEST(Recording, StoragesAreToldWithTheirTensors) {
  const Recording recording;
  Site made;
  {
    const Tensor tensor = room(100);
    made = tensor.created();
  }
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(kinds(events),
            (std::vector<Kind>{Kind::allocate, Kind::create, Kind::free, Kind::destroy}));
  for (const MemoryEvent& event : events) {
    ASSERT_NE(event.op, nullptr);
    EXPECT_STREQ(event.op, "room");
    EXPECT_EQ(event.site.line(), made.line());
    EXPECT_EQ(event.storage, events[0].storage);
  }
}

TEST(Recording, AFreeThroughADisposalIsWhereThatWas) {
  const Recording recording;
  const Tensor tensor = room(100);
  const Site gone = Site::current();
  tensor.dispose(gone);
  const std::vector<MemoryEvent> events = recording.events();
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[3].kind, Kind::free);
  EXPECT_STREQ(events[3].op, "room");
  EXPECT_EQ(events[3].site.line(), gone.line());
}

TEST(Recording, AStorageWithoutTensorIsToldWithout) {
  const Recording recording;
  mem::Storage::allocate(mem::this_thread(), cpu, 64)->release();
  for (const MemoryEvent& event : recording.events()) EXPECT_EQ(event.op, nullptr);
  EXPECT_EQ(recording.events().size(), 2u);
}

TEST(Recording, AbsurdCapacities) {
  EXPECT_THROW(Recording(static_cast<std::size_t>(-1)), ValueError);
  if (test::kSanitized) return;  // they end the program
  try {
    const Recording recording(std::size_t{1} << 48);
    ADD_FAILURE();
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.cause(), OutOfMemory::Cause::system);
    EXPECT_EQ(error.requested(), (std::size_t{1} << 48) * sizeof(MemoryEvent));
  }
  EXPECT_NO_THROW(Recording(4));
}

}  // namespace
}  // namespace tenure
