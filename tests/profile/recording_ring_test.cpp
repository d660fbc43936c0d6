#include <gtest/gtest.h>

#include <thread>
#include <vector>

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
