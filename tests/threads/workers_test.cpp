#include "tenure/kernels/threads/workers.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tenure/base/cpus.h"
#include "tenure/kernels/parallel.h"
#include "tenure/kernels/thread_limit.h"
#include "tests/support/sanitized.h"

namespace tenure::kernels {
namespace {

/// Sets the number of threads until it ends, and lets that be more than CPUs.
class Threads {
 public:
  explicit Threads(int threads) : before_(num_threads()) {
    set_num_threads(threads);
    let_workers_exceed_cpus(true);
  }
  ~Threads() {
    let_workers_exceed_cpus(false);
    set_num_threads(before_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

/// Whether a loop came to each element once, in whole grains.
bool covers_once(std::int64_t n, std::int64_t grain) {
  const auto size = static_cast<std::size_t>(n);
  const auto visits = std::make_unique<std::atomic<int>[]>(size);
  std::atomic<bool> has_whole_grains{true};
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    if (begin % grain != 0 || (end % grain != 0 && end != n)) has_whole_grains = false;
    for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
  });
  return has_whole_grains &&
         std::all_of(visits.get(), visits.get() + size, [](const auto& v) { return v == 1; });
}

/// The number of threads that were within a loop of so many parts at one time.
int threads_at_once(int parts) {
  std::mutex mutex;
  std::condition_variable came;
  int inside = 0;
  parallel_for(parts, 1, [&](std::int64_t, std::int64_t) {
    std::unique_lock lock(mutex);
    ++inside;
    came.notify_all();
    came.wait(lock, [&] { return inside == parts; });
  });
  return inside;
}

/// The first test: later ones start more workers.
TEST(Workers, AreNoMoreThanCpus) {
  const Threads setting(16);
  let_workers_exceed_cpus(false);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  parallel_for(128, 1, [&](std::int64_t, std::int64_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // that all come who want to
    const std::scoped_lock lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_LE(static_cast<int>(threads.size()), available_cpus());
}

TEST(Workers, RandomLoopsOfManyCallersComeToEachElementOnce) {
  constexpr int kCallers = 12;  // more than loops that workers help with at a time
  for (const int threads : {1, 2, 3, 4, 8, 16}) {
    const Threads setting(threads);
    std::atomic<int> failures{0};
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    for (int caller = 0; caller < kCallers; ++caller) {
      callers.emplace_back([&, caller] {
        std::mt19937 random(static_cast<unsigned>(100 * threads + caller));
        for (int i = 0; i < 60; ++i) {
          const auto n = static_cast<std::int64_t>(random() % 700);
          const auto grain = static_cast<std::int64_t>(1 + random() % 40);
          if (!covers_once(n, grain)) ++failures;
        }
      });
    }
    for (std::thread& caller : callers) caller.join();
    EXPECT_EQ(failures, 0) << threads << " threads";
  }
}

TEST(Workers, LoopsFollowEachOtherClosely) {
  const Threads setting(4);
  std::int64_t sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::atomic<std::int64_t> loop{0};
    parallel_for(8, 1, [&](std::int64_t begin, std::int64_t end) { loop += end - begin; });
    sum += loop;
  }
  EXPECT_EQ(sum, 8 * 20'000);
}

TEST(Workers, AsManyThreadsAsAskedForRunALoop) {
  for (const int threads : {2, 3, 8, 5}) {
    const Threads setting(threads);
    EXPECT_EQ(threads_at_once(threads), threads);
  }
}

TEST(Workers, ALoopWithinALoopStaysOnItsThread) {
  const Threads setting(4);
  std::atomic<int> others{0};
  parallel_for(4, 1, [&](std::int64_t, std::int64_t) {
    const std::thread::id outer = std::this_thread::get_id();
    parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
      if (std::this_thread::get_id() != outer || end - begin != 100) ++others;
    });
  });
  EXPECT_EQ(others, 0);
}

TEST(Workers, AThreadLimitHoldsForItsThread) {
  const Threads setting(4);
  const ThreadLimit limit(1);
  const std::thread::id self = std::this_thread::get_id();
  parallel_for(100, 1, [&](std::int64_t begin, std::int64_t end) {
    EXPECT_EQ(std::this_thread::get_id(), self);
    EXPECT_EQ(end - begin, 100);
  });
}

/// What the system says of each worker in /proc/self/task/*/status, in the line that begins so.
std::vector<std::string> lines_of_workers(const std::string& start) {
  std::vector<std::string> found;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task")) {
    std::ifstream status(task.path() / "status");
    bool is_worker = false;
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("Name:", 0) == 0) is_worker = line.find("tenure worker") != line.npos;
      if (is_worker && line.rfind(start, 0) == 0) found.push_back(line);
    }
  }
  return found;
}

TEST(Workers, SleepWhenThereIsNothingToDo) {
  const Threads setting(3);
  EXPECT_EQ(threads_at_once(3), 3);
  const auto are_asleep = [] {
    const std::vector<std::string> states = lines_of_workers("State:");
    return states.size() >= 2 &&
           std::all_of(states.begin(), states.end(), [](const std::string& line) {
             return line.find("S (sleeping)") != line.npos;
           });
  };
  while (!are_asleep()) std::this_thread::yield();  // or never ends
}

TEST(Workers, LeaveSignalsToTheProgramsThreads) {
  const Threads setting(2);
  EXPECT_EQ(threads_at_once(2), 2);
  for (const std::string& line : lines_of_workers("SigBlk:")) {
    const std::uint64_t blocked = std::stoull(line.substr(7), nullptr, 16);
    EXPECT_NE(blocked & 1u << (SIGINT - 1), 0u);
    EXPECT_NE(blocked & 1u << (SIGTERM - 1), 0u);
    EXPECT_EQ(blocked & 1u << (SIGSEGV - 1), 0u) << "a handler of crashes would not see it";
    EXPECT_EQ(blocked & 1u << (SIGFPE - 1), 0u);
  }
}

/// Binds this thread to some cores until it ends.
class Bound {
 public:
  explicit Bound(int cpu) {
    sched_getaffinity(0, sizeof before_, &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
  }
  ~Bound() { sched_setaffinity(0, sizeof before_, &before_); }
  Bound(const Bound&) = delete;
  Bound& operator=(const Bound&) = delete;

 private:
  cpu_set_t before_;
};

/// On which core the worker computed its part of a loop of two, or -1 if this thread computed both.
int core_of_worker() {
  const std::thread::id self = std::this_thread::get_id();
  std::atomic<int> core{-1};
  parallel_for(2, 1, [&](std::int64_t, std::int64_t) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
    while (std::chrono::steady_clock::now() < end) {
    }
    if (std::this_thread::get_id() != self) core = sched_getcpu();
  });
  return core;
}

TEST(Workers, LeaveTheCoreToTheirCallerWhereverItMoves) {
  const Threads setting(2);
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "there is one core";
  EXPECT_EQ(threads_at_once(2), 2);
  for (int round = 0; round < 3; ++round) {
    for (int cpu = 0, bound = 0; cpu < CPU_SETSIZE && bound < 4; ++cpu) {
      if (!CPU_ISSET(cpu, &all)) continue;
      ++bound;
      const Bound here(cpu);
      int core = core_of_worker();
      while (core == -1 || core == cpu) core = core_of_worker();  // or never ends
      EXPECT_TRUE(CPU_ISSET(core, &all));
    }
  }
}

#ifndef __SANITIZE_THREAD__  // it does not follow threads of a child
TEST(Workers, AChildOfForkHasItsOwn) {
  const Threads setting(3);
  EXPECT_EQ(threads_at_once(3), 3);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    _exit(threads_at_once(3) == 3 && covers_once(1000, 7) ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(threads_at_once(3), 3);
}

/// Set in a program that is started again, where nobody has asked for the number of threads yet.
constexpr const char* kVariable = "TENURE_TEST_FIRST_NUMBER";

TEST(Workers, FirstNumber) {
  if (std::getenv(kVariable) == nullptr) GTEST_SKIP() << "runs as a child of the test below";
  std::atomic<bool> begins{false};
  std::thread asks([&] {
    begins = true;
    num_threads();
  });
  while (!begins) std::this_thread::yield();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(num_threads() >= 1 && covers_once(100, 1) ? 0 : 1);
  }
  asks.join();
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "the child hangs";
}

TEST(Workers, AForkWhileTheFirstNumberIsFoundLocksNobodyOut) {
  if (test::kSanitized) GTEST_SKIP() << "the other thread may hold a lock of the sanitizer's";
  for (int i = 0; i < 30; ++i) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      setenv(kVariable, "1", 1);
      execl("/proc/self/exe", "workers_test", "--gtest_filter=Workers.FirstNumber",
            "--gtest_brief=1", static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
}
#endif

TEST(Workers, PartsOfAnySizeFollowEachOther) {
  for (const std::int64_t size : {std::int64_t{1}, std::int64_t{127}, std::int64_t{1} << 62}) {
    for (const std::int64_t grain : {std::int64_t{1}, std::int64_t{3}}) {
      std::int64_t reached = 0;
      const auto follow = [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(begin, reached);
        reached = end;
      };
      const Loop loop{.body = follow,
                      .size = size,
                      .grain = grain,
                      .shares = kMaxShares,
                      .parts_of_share = kMaxPartsOfShare};
      for (int part = 0; part < loop.parts(); ++part) loop.run(part);
      EXPECT_EQ(reached, size);
    }
  }
}

}  // namespace
}  // namespace tenure::kernels
