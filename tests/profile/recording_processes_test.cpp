#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <thread>
#include <vector>

#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/scratch.h"
#include "tests/support/share.h"

// Recordings of many threads and processes, and of programs that are killed.

namespace tenure {
namespace {

using profile::EventKind;
using profile::History;
using profile::Recorded;
using test::ScratchFile;

std::vector<profile::Event> events_of(const Recorded& recorded) {
  std::vector<profile::Event> events;
  recorded.for_each([&](const profile::Event& event) {
    events.push_back(event);
    return true;
  });
  return events;
}

std::map<EventKind, int> counts_of(const Recorded& recorded) {
  std::map<EventKind, int> counts;
  for (const profile::Event& event : events_of(recorded)) ++counts[event.kind];
  return counts;
}

/// What waitpid() says of a child that runs `work` and then exits with 0.
template <class Work>
int status_of_child(const Work& work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return status;
}

TEST(Profile, EventsOfManyThreadsAddUp) {
  const int rounds = test::rounds(3000);
  const ScratchFile file;
  {
    const Profile profile(file.path());
    test::on_threads(4, [&](int) {
      for (int i = 0; i < rounds; ++i) {
        const Tensor x = test::room(i % 100);
        x.dispose();
      }
    });
  }
  const Recorded recorded(file.path());
  EXPECT_EQ(recorded.damaged, 0u);
  std::map<EventKind, int> counts = counts_of(recorded);
  for (const EventKind kind :
       {EventKind::allocate, EventKind::create, EventKind::dispose, EventKind::free}) {
    EXPECT_EQ(counts[kind], 4 * rounds);
  }
  std::int64_t last = 0;
  for (const profile::Event& event : events_of(recorded)) {
    ASSERT_GE(event.time_ns, last);
    last = event.time_ns;
  }
  const History history(recorded);
  EXPECT_EQ(history.storages.size(), static_cast<std::size_t>(4 * rounds));
  for (const profile::StorageLife& life : history.storages) ASSERT_FALSE(life.is_live());
}

TEST(Profile, BeginsAndEndsWhileThreadsWork) {
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    while (!stop) const Tensor x = test::room(10);
  });
  for (int i = 0; i < test::rounds(50); ++i) {
    const ScratchFile file;
    {
      const Profile profile(file.path());
      const Tensor x = test::room(1);
    }
    const Recorded recorded(file.path());
    EXPECT_TRUE(recorded.finished);
    EXPECT_EQ(recorded.damaged, 0u);
  }
  stop = true;
  worker.join();
}

TEST(Profile, CanBeReadWhileThreadsWriteToIt) {
  const ScratchFile file;
  const Profile profile(file.path(), {.capacity = 64 * profile::kChunkBytes});
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;
  for (int t = 0; t < 2; ++t) {
    workers.emplace_back([&] {
      while (!stop) const Tensor x = test::room(10);
    });
  }
  for (int i = 0; i < test::rounds(60); ++i) {
    const Recorded recorded(file.path());
    EXPECT_EQ(recorded.damaged, 0u);
    const History history(recorded);
    EXPECT_LE(history.holders.size(), 1000u) << "tensors live for a moment";
  }
  stop = true;
  for (std::thread& worker : workers) worker.join();
}

TEST(Profile, TwoProcessesDoNotWriteToOneFile) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Tensor x = ones({2});
    const int status = status_of_child([&] {
      try {
        const Profile second(file.path());
      } catch (const ProfileError& error) {
        _exit(std::string(error.what()).find("another recording") == std::string::npos ? 2 : 0);
      }
      _exit(1);
    });
    EXPECT_EQ(status, 0);
    for (int i = 0; i < 1000; ++i) relu(x);  // into a file that nobody cut
  }
  const Recorded recorded(file.path());
  EXPECT_TRUE(recorded.finished);
  EXPECT_EQ(History(recorded).ops.at("relu").calls, 1000);
}

TEST(Profile, WithoutANameItIsTheProgramsOwn) {
  const ScratchFile folder;
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::create_directory(folder.path());
  std::filesystem::current_path(folder.path());
  {
    const Profile profile;
    const Tensor x = ones({2});
  }
  { const Profile numbered("by-%p.tenure"); }
  std::filesystem::current_path(before);
  EXPECT_GE(Recorded(folder.path() + "/tenure_profile_tests.tenure").events, 2u);
  EXPECT_NO_THROW(Recorded(folder.path() + "/by-" + std::to_string(getpid()) + ".tenure"));
  std::filesystem::remove_all(folder.path());
}

TEST(Profile, AKilledProgramLeavesWhatItDid) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  const ScratchFile file;
  const int status = status_of_child([&] {
    static const Profile profile(file.path());
    const Tensor kept = ones({25});
    for (int i = 0; i < 1000; ++i) relu(kept);
    raise(SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  const Recorded recorded(file.path());
  EXPECT_FALSE(recorded.finished);
  EXPECT_EQ(recorded.damaged, 0u);
  const History history(recorded);
  EXPECT_EQ(history.ops.at("relu").calls, 1000) << "every one, to the last";
  const std::vector<profile::Held> held = held_at_end(history);
  ASSERT_FALSE(held.empty());
  EXPECT_EQ(held[0].storage->bytes, 100);
}

TEST(Profile, AForkedChildDoesNotWrite) {
  if (test::kSanitized) GTEST_SKIP() << "sanitizers do not like fork";
  const ScratchFile file;
  {
    const Profile profile(file.path());
    const Tensor x = ones({2});
    const int status = status_of_child([&] {
      for (int i = 0; i < 100; ++i) relu(x);
    });
    ASSERT_EQ(status, 0);
    tanh(x);
  }
  const Recorded recorded(file.path());
  const History history(recorded);
  EXPECT_EQ(history.ops.count("relu"), 0u);
  EXPECT_EQ(history.ops.count("tanh"), 1u);
}

TEST(Profile, CanBeReadWhileItIsWritten) {
  const ScratchFile file;
  const Profile profile(file.path());
  const Tensor x = ones({4});
  const Recorded recorded(file.path());
  EXPECT_FALSE(recorded.finished);
  EXPECT_EQ(recorded.damaged, 0u);
  EXPECT_GE(recorded.events, 2u);
}

}  // namespace
}  // namespace tenure
