#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tenure/profile/limits.h"
#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"
#include "tests/support/share.h"

// What a recording of bounded size keeps.

namespace tenure {
namespace {

using profile::History;
using profile::Recorded;
using test::ScratchFile;

TEST(Profile, KeepsTheNewestWithinItsCapacity) {
  const ScratchFile file;
  const Tensor outer = test::room(1000);
  constexpr std::size_t capacity = 8 * profile::kChunkBytes;
  std::int64_t live = 0;
  {
    const Profile profile(file.path(), {.capacity = capacity});
    const Tensor kept = test::room(5000);
    for (int i = 0; i < 20000; ++i) const Tensor x = test::room(10);
    live = memory().bytes;
  }
  const Recorded recorded(file.path());
  EXPECT_GT(recorded.recycled, 0u);
  EXPECT_EQ(recorded.damaged, 0u);
  EXPECT_EQ(recorded.dropped, 0u);
  EXPECT_LE(std::filesystem::file_size(file.path()), capacity);
  const History history(recorded);
  EXPECT_GT(history.storages.size(), 1000u);
  // What is forgotten is still counted.
  ASSERT_GT(recorded.horizon_ns, 0);
  for (const profile::StorageLife& life : history.storages) {
    ASSERT_GE(life.birth_ns, recorded.horizon_ns) << "nothing is made up of the time before";
  }
  EXPECT_GE(timeline(history, 10).front().time_ns, recorded.horizon_ns);
  EXPECT_LE(std::abs(live_at_end(history) - (live - 5000)), 100);
  EXPECT_GE(peak(history).bytes, live - 200);
}

/// A random program on two threads that is longer than its recording, with step marks or without:
/// at every moment that the recording tells of, it is known who made what is live, by whom it is
/// held, and that the pool has it.
TEST(Profile, HistoryBeginsWhereAllIsKnown) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    const ScratchFile file;
    std::vector<std::uint64_t> kept_ids;
    std::int64_t live = 0;
    const std::int64_t before = memory().bytes;
    {
      const Budget budget("all of it", 1024 * MiB);
      std::vector<Tensor> kept;
      Tensor weights;
      const Profile profile(file.path(), {.capacity = 24 * profile::kChunkBytes});
      weights = test::room(300'000);
      weights.set_name("weights");
      const auto work = [&](unsigned number) {
        std::mt19937 random(10 * seed + number);
        for (int i = 0; i < 15'000; ++i) {
          const auto bytes =
              static_cast<std::int64_t>(random() % 50 == 0 ? 100'000 : 8 + random() % 100);
          kept.push_back(test::room(bytes));
          if (kept.size() > 100) {
            kept.erase(kept.begin() + static_cast<std::ptrdiff_t>(random() % kept.size()));
          }
          if (seed % 2 == 0 && i % 50 == 0) mark_step();
        }
      };
      work(1);
      std::thread([&] {
        const Budget::Enter enter(budget);
        work(2);
      }).join();
      work(3);
      live = memory().bytes - before;
      for (const Tensor& each : kept) kept_ids.push_back(each.id());
    }
    const Recorded recorded(file.path());
    ASSERT_GT(recorded.recycled, 24u);
    EXPECT_TRUE(recorded.is_known_from_before);
    const History history(recorded);
    EXPECT_GT(history.storages.size(), 1000u) << "little of it is left";
    // But for what the test itself had, nothing is of unknown origin.
    EXPECT_EQ(history.base_bytes, 0) << "seed " << seed;
    std::set<std::uint64_t> held;
    for (const profile::LiveHolder& holder : history.holders) held.insert(holder.tensor);
    for (const std::uint64_t id : kept_ids) EXPECT_TRUE(held.contains(id)) << "seed " << seed;
    EXPECT_EQ(live_at_end(history), before + live) << "seed " << seed;
    EXPECT_GE(peak(history).bytes, live);
    std::size_t were_before = 0;
    for (const profile::StorageLife& life : history.storages) {
      EXPECT_GE(life.birth_ns, recorded.horizon_ns);
      EXPECT_GT(life.death_ns, recorded.horizon_ns);
      ASSERT_FALSE(recorded.origin(life.origin).op.empty()) << "seed " << seed;
      ASSERT_NE(life.address, 0u);
      ASSERT_EQ(life.budget, 1u);
      were_before += life.was_before ? 1 : 0;
    }
    EXPECT_GE(were_before, 100u);
    const std::vector<profile::PoolSample> pool = pool_levels(history, cpu);
    ASSERT_FALSE(pool.empty());
    EXPECT_EQ(pool.front().time_ns, recorded.horizon_ns);
    for (std::size_t i = 0; i < pool.size(); i += 10) {
      const profile::PoolSample& sample = pool[i];
      std::int64_t there = 0;
      for (const profile::StorageLife& life : history.storages) {
        if (life.birth_ns <= sample.time_ns && life.death_ns > sample.time_ns) there += life.bytes;
      }
      ASSERT_GE(sample.reserved, there) << "seed " << seed;
    }
  }
}

/// Whoever comes last finds room, too: the oldest events give way.
TEST(Profile, AThreadThatStartsWhenItIsFullIsRecorded) {
  const ScratchFile file;
  {
    const Profile profile(file.path(), {.capacity = 8 * profile::kChunkBytes});
    std::vector<std::jthread> waiting;
    std::latch end(4);
    for (int i = 0; i < 3; ++i) {  // each has a piece of the file of its own
      waiting.emplace_back([&] {
        for (int k = 0; k < 10'000; ++k) const Tensor x = test::room(10);
        const Tensor last = test::room(77);
        end.arrive_and_wait();
      });
    }
    end.arrive_and_wait();
  }
  const Recorded recorded(file.path());
  EXPECT_GT(recorded.recycled, 0u);
  EXPECT_EQ(recorded.dropped, 0u);
  EXPECT_EQ(recorded.damaged, 0u);
  std::set<std::uint32_t> threads;
  recorded.for_each([&](const profile::Event& event) {
    threads.insert(event.thread);
    return true;
  });
  EXPECT_GE(threads.size(), 3u);
}

/// More than a recording has room for is not told anew again and again.
TEST(Profile, WhatIsTooMuchToTellAnewIsCounted) {
  const ScratchFile file;
  std::vector<Tensor> many;
  std::int64_t live = 0;
  {
    const Profile profile(file.path(), {.capacity = 8 * profile::kChunkBytes});
    for (int i = 0; i < 2000; ++i) many.push_back(test::room(100));
    for (int i = 0; i < 20'000; ++i) const Tensor x = test::room(10);
    live = memory().bytes;
  }
  const Recorded recorded(file.path());
  EXPECT_FALSE(recorded.is_known_from_before);
  const History history(recorded);
  EXPECT_LE(std::abs(live_at_end(history) - live), 100);
  EXPECT_GE(history.base_bytes, 2000 * 100 - 100);
}

TEST(Profile, WhatTheRingForgotIsNotTakenForALeak) {
  const ScratchFile file;
  std::vector<Tensor> passed;
  {
    const Profile profile(file.path(), {.capacity = 8 * profile::kChunkBytes});
    // This thread's piece of the file is never full, and stays; that of the other one, which ends
    // the tensors, is long gone.
    for (int i = 0; i < 10; ++i) passed.push_back(test::room(100));
    std::thread([&] {
      passed.clear();
      for (int i = 0; i < 20000; ++i) const Tensor x = test::room(10);
    }).join();
  }
  const Recorded recorded(file.path());
  EXPECT_GT(recorded.horizon_ns, 0);
  const History history(recorded);
  for (const profile::Held& held : held_at_end(history)) EXPECT_NE(held.storage->bytes, 100);
}

TEST(Profile, WhatLivesLongIsKnownHoweverShortTheRing) {
  const ScratchFile file;
  const std::int64_t before = memory().bytes;
  std::int64_t live = 0;
  Tensor weights;
  {
    const Profile profile(file.path(), {.capacity = 8 * profile::kChunkBytes});
    weights = test::room(5000);
    weights.set_name("weights");
    for (int i = 0; i < 20000; ++i) {
      const Tensor x = test::room(10);
      if (i % 100 == 0) mark_step();
    }
    live = memory().bytes;
  }
  const Recorded recorded(file.path());
  ASSERT_GT(recorded.recycled, 8u);
  const History history(recorded);
  const std::vector<profile::Held> held = held_at_end(history);
  const auto found = std::find_if(held.begin(), held.end(), [](const profile::Held& each) {
    return each.storage->bytes == 5000;
  });
  ASSERT_NE(found, held.end());
  ASSERT_EQ(found->holders.size(), 1u);
  EXPECT_EQ(found->holders[0]->name, "weights");
  EXPECT_EQ(live_at_end(history), live);
  EXPECT_EQ(peak(history).bytes, live + 10) << "and not counted twice";
  EXPECT_GE(live, before + 5000);
}

TEST(Profile, NamesWithoutEndAreBounded) {
  const ScratchFile file;
  constexpr std::size_t capacity = 8 * profile::kChunkBytes;
  {
    const Profile profile(file.path(), {.capacity = capacity});
    for (int i = 0; i < 20000; ++i) {
      const NameScope name("a name that never comes again " + std::to_string(i));
      const Tensor x = test::room(10);
    }
  }
  EXPECT_LE(std::filesystem::file_size(file.path()), capacity);
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 0u);
  const History history(recorded);
  EXPECT_GT(history.storages.size(), 100u) << "room for events is left";
}

TEST(Profile, AnEventTakesAtMost32Bytes) {
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Tensor x = ones({16});
    for (int i = 0; i < 20000; ++i) add(x, x);
  }
  const Recorded recorded(file.path());
  EXPECT_LE(static_cast<double>(std::filesystem::file_size(file.path())) /
                static_cast<double>(recorded.events),
            32);
}

}  // namespace
}  // namespace tenure
