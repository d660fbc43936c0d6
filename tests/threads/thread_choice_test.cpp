#include "tenure/kernels/threads/thread_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <vector>

#include "tenure/kernels/parallel.h"
#include "tenure/kernels/threads/call_threads.h"
#include "tenure/kernels/threads/workers.h"

namespace tenure::kernels {
namespace {

/// How long work takes with so many threads.
using Machine = std::function<double(int)>;

/// Does work so many times. Returns how long all of it took.
double work(ThreadChoice& choice, int most, const Machine& machine, int times) {
  double all = 0;
  for (int i = 0; i < times; ++i) {
    const ThreadChoice::Turn turn = choice.next(most);
    const double time = machine(ThreadChoice::threads(most, turn.halvings));
    all += time;
    if (turn.is_timed) choice.took(turn, most, static_cast<float>(time));
  }
  return all;
}

double least(int most, const Machine& machine) {
  double found = machine(1);
  for (int threads = 2; threads <= most; ++threads) found = std::min(found, machine(threads));
  return found;
}

/// A part that nobody else can do, a part for all, and what each further thread costs.
Machine random_machine(std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(-2, 2);
  const double own = std::pow(10, exponent(random));
  const double shared = std::pow(10, exponent(random) + 1);
  const double each = std::pow(10, exponent(random));
  return [=](int threads) { return own + shared / threads + each * (threads - 1); };
}

TEST(ThreadChoice, HalvesDownToOne) {
  for (int most = 2; most <= 128; ++most) {
    int halvings = 0;
    while (ThreadChoice::threads(most, halvings) > 1) ++halvings;
    EXPECT_LT(halvings, ThreadChoice::kHalvings) << most;
    EXPECT_EQ(ThreadChoice::threads(most, 0), most);
  }
}

TEST(ThreadChoice, BeginsWithAllThreads) {
  ThreadChoice choice;
  EXPECT_EQ(choice.next(16).halvings, 0);
}

// Powers of two are tried, so that the best of all numbers may be missed by a little.
TEST(ThreadChoice, FindsWhatTakesLeastAndSeldomTriesAnythingElse) {
  std::mt19937 random(1);
  for (int round = 0; round < 500; ++round) {
    const Machine machine = random_machine(random);
    for (const int most : {2, 3, 4, 8, 16, 64}) {
      ThreadChoice choice;
      work(choice, most, machine, 2048);
      const double mean = work(choice, most, machine, 4096) / 4096;
      EXPECT_LE(mean, 1.15 * least(most, machine)) << most << " threads, round " << round;
      EXPECT_LE(mean, 1.03 * machine(1)) << "slower than one thread";
    }
  }
}

TEST(ThreadChoice, IsNotMisledByWhatIsDisturbedNowAndThen) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    const Machine machine = random_machine(random);
    const Machine disturbed = [&](int threads) {
      return machine(threads) * (random() % 8 == 0 ? 20 : 1);
    };
    ThreadChoice choice;
    work(choice, 8, disturbed, 4096);
    const double mean = work(choice, 8, machine, 1024) / 1024;
    EXPECT_LE(mean, 1.25 * least(8, machine)) << "round " << round;
  }
}

TEST(ThreadChoice, FollowsAMachineThatChanges) {
  ThreadChoice choice;
  const Machine near = [](int threads) { return 100.0 / threads; };
  const Machine far = [](int threads) { return 100.0 / threads + 80 * (threads - 1); };
  for (int i = 0; i < 3; ++i) {
    work(choice, 4, near, 1 << 15);
    EXPECT_LE(work(choice, 4, near, 512), 1.1 * 512 * near(4)) << i;
    work(choice, 4, far, 1 << 15);
    EXPECT_LE(work(choice, 4, far, 512), 1.1 * 512 * far(1)) << i;
  }
}

TEST(ThreadChoice, OfAKindStaysUntilAnotherTakesItsPlace) {
  ThreadChoice* const first = &choice_of(12);
  work(
      *first, 2, [](int threads) { return threads; }, 64);
  EXPECT_EQ(&choice_of(12), first);
  std::uint64_t other = 14;
  while (&choice_of(other) != first) other += 2;
  EXPECT_EQ(choice_of(other).next(2).halvings, 0);
}

// Whatever is chosen, each element is met once: small loops and large ones, often enough that some
// are tried with fewer threads.
TEST(ThreadChoice, LoopsMeetEachElementOnce) {
  const int before = num_threads();
  set_num_threads(4);
  std::mt19937 random(3);
  for (int kind = 0; kind < 20; ++kind) {
    const auto n = static_cast<std::int64_t>(1 + random() % 5000);
    const auto grain = static_cast<std::int64_t>(1 + random() % 100);
    std::vector<std::atomic<int>> met(static_cast<std::size_t>(n));
    for (int i = 0; i < 100; ++i) {
      parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t k = begin; k < end; ++k) ++met[static_cast<std::size_t>(k)];
      });
    }
    for (const std::atomic<int>& count : met) ASSERT_EQ(count, 100);
  }
  set_num_threads(before);
}

TEST(CallThreads, AreThoseOfTheInnermostCall) {
  const ops::Kernel outer{.op = "outer"};
  const ops::Kernel inner{.op = "inner"};
  EXPECT_EQ(CallThreads::now(), nullptr);
  {
    CallThreads first(outer);
    EXPECT_EQ(CallThreads::now(), &first);
    {
      CallThreads second(inner);
      EXPECT_EQ(CallThreads::now(), &second);
      EXPECT_LE(second.threads(), num_threads());
    }
    EXPECT_EQ(CallThreads::now(), &first);
  }
  EXPECT_EQ(CallThreads::now(), nullptr);
}

// One call may find its threads, and all of its loops then have as many.
TEST(CallThreads, AreTheSameForAllLoopsOfACall) {
  const int before = num_threads();
  for (const int most : {1, 2, 8, 128, 129, 1'000'000}) {
    set_num_threads(most);
    const ops::Kernel kernel{.op = "some"};
    for (int i = 0; i < 2000; ++i) {
      CallThreads call(kernel);
      const int threads = call.threads();
      EXPECT_GE(threads, 1);
      EXPECT_LE(threads, std::min(most, kMaxShares));
      EXPECT_EQ(call.threads(), threads);
    }
  }
  set_num_threads(before);
}

}  // namespace
}  // namespace tenure::kernels
