#include "tenure/memory/leak_guard.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "tenure/memory/accounts/growth_text.h"
#include "tenure/memory/scope.h"
#include "tenure/tensor/tree.h"
#include "tests/support/expect.h"
#include "tests/support/share.h"

namespace tenure {
namespace {

using test::room;

/// The iteration in which `guard` first complains about `iteration`, or 0.
template <class F>
int complains_at(LeakGuard& guard, int iterations, const F& iteration) {
  for (int i = 1; i <= iterations; ++i) {
    iteration(i);
    try {
      guard.mark();
    } catch (const LeakError&) {
      return i;
    }
  }
  return 0;
}

TEST(LeakGuard, SteadyLoopsPass) {
  LeakGuard guard;
  std::vector<Tensor> window;
  EXPECT_EQ(complains_at(guard, 2000,
                         [&](int i) {
                           const Tensor temporary = room(i % 100);
                           window.push_back(room(64));
                           if (window.size() > 3) window.erase(window.begin());
                         }),
            0);
  EXPECT_EQ(guard.iterations(), 2000);
}

constexpr int kSoon = 3 + 64;  // iterations to warm up, and to be sure

TEST(LeakGuard, FindsOneTensorPerIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { leak.push_back(room(4)); }), kSoon);
}

TEST(LeakGuard, PatienceSaysHowSoon) {
  for (const int patience : {1, 2, 3, 4, 16, 64}) {
    LeakGuard guard("loop", {.warm_up = 2, .patience = patience});
    std::vector<Tensor> leak;
    EXPECT_EQ(complains_at(guard, 200, [&](int) { leak.push_back(room(4)); }), 2 + patience);
  }
}

TEST(LeakGuard, FindsAnEmptyTensorPerIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { leak.push_back(room(0)); }), kSoon);
}

TEST(LeakGuard, FindsALeakInEveryTenthIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  const int at = complains_at(guard, 1000, [&](int i) {
    if (i % 10 == 0) leak.push_back(room(4));
  });
  EXPECT_GT(at, 0);
  EXPECT_LE(at, 300);
}

TEST(LeakGuard, FindsATensorThatGrows) {
  LeakGuard guard;
  Tensor growing;
  EXPECT_EQ(complains_at(guard, 100, [&](int i) { growing = room(i * 10); }), kSoon);
}

TEST(LeakGuard, FindsViewsThatPileUp) {
  const Tensor base = room(1000);
  LeakGuard guard;
  std::vector<Tensor> views;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { views.push_back(test::share(base)); }), kSoon);
}

TEST(LeakGuard, FindsALeakOfAnotherThread) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(
      complains_at(guard, 100, [&](int) { test::on_thread([&] { leak.push_back(room(4)); }); }),
      kSoon);
}

TEST(LeakGuard, NamesTheLine) {
  LeakGuard guard("serving");
  std::vector<Tensor> leak;
  const Tensor innocent = room(5000);
  std::string line;
  for (int i = 1; i < kSoon; ++i) {
    leak.push_back(room(100));
    line = to_string(leak.back().created());
    guard.mark();
  }
  test::expect_throws<LeakError>(
      [&] { guard.mark(); },
      {"serving grows 96 B a step at " + line + "\n  after iteration 67 it holds 67 tensors",
       "after iteration 35 it held 36", "room at " + line, "35 -> 66 tensors"});
}

TEST(LeakGuard, SaysWhoHoldsWhatGrows) {
  LeakGuard guard("train");
  std::vector<Tensor> views;
  std::string line;
  const auto step = [&] {
    views.push_back(test::share(room(4096)));
    line = to_string(views.back().created());
    guard.mark();
  };
  for (int i = 1; i < kSoon; ++i) step();
  test::expect_throws<LeakError>(step, {"train grows 4.00 KiB a step, held by share at " + line});
}

TEST(LeakGuard, NamesTheLineThatGrowsMostOfWhatGrows) {
  LeakGuard guard("train");
  const Tensor large = room(1 << 20);
  Tensor varying;
  std::vector<Tensor> leak;
  std::string line;
  const auto step = [&](int i) {
    varying = room(i == kSoon ? 1 << 22 : 8);  // in the last step, and no leak
    leak.push_back(room(16));
    line = to_string(leak.back().created());
    guard.mark();
  };
  for (int i = 1; i < kSoon; ++i) step(i);
  test::expect_throws<LeakError>([&] { step(kSoon); }, {"train grows 16 B a step at " + line});
}

TEST(LeakGuard, TellsAProgramWhatGrows) {
  std::vector<LeakError> reports;
  LeakGuard guard("loop", {.warm_up = 1, .patience = 1, .report = [&](const LeakError& error) {
                             reports.push_back(error);
                           }});
  std::vector<Tensor> leak;
  Tensor growing;
  for (int i = 1; i <= 3; ++i) {
    leak.push_back(room(8));
    growing = room(1000 * i);
    guard.mark();
  }
  ASSERT_EQ(reports.size(), 2u) << "each report makes the higher level the baseline";
  for (const LeakError& error : reports) {
    ASSERT_EQ(error.growing().size(), 2u);
    const LeakError::Growth& larger = error.growing()[0];
    EXPECT_EQ(larger.group.op, "room");
    EXPECT_EQ(larger.group.tensors, 1);
    EXPECT_EQ(larger.group.bytes, larger.bytes_before + 1000);
    EXPECT_EQ(error.growing()[1].group.tensors, error.growing()[1].tensors_before + 1);
  }
}

TEST(LeakGuard, WarmUpMayGrowAndShrink) {
  LeakGuard guard("loop", {.warm_up = 5});
  std::vector<Tensor> caches;
  EXPECT_EQ(complains_at(guard, 50,
                         [&](int i) {
                           if (i <= 5) caches.push_back(room(1000));
                         }),
            0);
}

TEST(LeakGuard, NoWarmUpBeginsAtOnce) {
  LeakGuard guard("loop", {.warm_up = 0, .patience = 1});
  const Tensor left = room(1);
  EXPECT_THROW(guard.mark(), LeakError);
  EXPECT_NO_THROW(guard.mark()) << "the higher level is the new baseline";
}

TEST(LeakGuard, SpikesAreNoTrend) {
  LeakGuard guard;
  Tensor spike;
  EXPECT_EQ(complains_at(guard, 1000,
                         [&](int i) {
                           spike = Tensor();
                           if (i % 3 != 0) spike = room(100);
                         }),
            0);
}

/// What comes and goes, fills up and stays: none of it is a leak, alone or with others.
TEST(LeakGuard, WhatHasABoundIsNoLeak) {
  std::mt19937 random(5);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 60; ++round) {
    LeakGuard guard;
    Tensor varying;                // of any size
    std::vector<Tensor> cache;     // fills up
    std::vector<Tensor> flushed;   // from time to time
    std::deque<Tensor> queue;      // another thread's, as it were: its length wanders
    std::vector<Tensor> disposed;  // handles, dropped from time to time
    const int full = below(12);
    const int period = 1 + below(30);
    const std::size_t length = static_cast<std::size_t>(1 + below(10));
    const int slow = 1 + below(40);
    const int at = complains_at(guard, 2000, [&](int i) {
      varying = room(below(1000));
      if (static_cast<int>(cache.size()) < full) cache.push_back(room(64));
      flushed.push_back(room(8));
      if (i % period == 0) flushed.clear();
      if (i > slow && below(2) == 0 && queue.size() < length) queue.push_back(room(below(100)));
      if (below(4) == 0 && !queue.empty()) queue.pop_front();
      disposed.push_back(room(4));
      disposed.back().dispose();
      if (i % 7 == 0) disposed.clear();
    });
    ASSERT_EQ(at, 0) << "round " << round << ", cache " << full << ", period " << period;
  }
}

/// The same, and a leak besides: it is found wherever it begins, and named.
TEST(LeakGuard, ALeakIsFoundAmongWhatComesAndGoes) {
  std::mt19937 random(6);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int round = 0; round < 40; ++round) {
    LeakGuard guard;
    Tensor varying;
    std::vector<Tensor> flushed;
    std::vector<Tensor> leak;
    const int period = 1 + below(20);
    const int begin = below(1200);
    const int every = 1 + below(5);
    std::string line;
    std::string text;
    int at = 0;
    for (int i = 1; i <= begin + 2000 && at == 0; ++i) {
      varying = room(below(1000));
      flushed.push_back(room(8));
      if (i % period == 0) flushed.clear();
      if (i > begin && i % every == 0) {
        leak.push_back(room(16));
        line = "room at " + to_string(leak.back().created());
      }
      try {
        guard.mark();
      } catch (const LeakError& error) {
        at = i;
        text = error.what();
      }
    }
    EXPECT_GT(at, begin) << "round " << round;
    EXPECT_LE(at, begin + 1000 * every) << "round " << round << ", period " << period;
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

/// Whatever is emptied at least once in `patience` marks, by however much it grows until then.
TEST(LeakGuard, ASawtoothIsNoLeak) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (const int patience : {64, 16, 40, 79}) {
    for (int round = 0; round < (patience == 64 ? 126 : 20); ++round) {
      LeakGuard guard("loop", {.warm_up = below(5), .patience = patience});
      const int period = patience == 64 ? 2 + round % 63 : 2 + below(patience - 1);
      const int phase = below(period);
      const int most = 1 + below(3);
      const bool is_steady = below(2) == 0;  // else it grows by more or less from mark to mark
      const Tensor base = room(below(100));
      std::vector<Tensor> queue;
      const int at = complains_at(guard, 2000, [&](int i) {
        for (int n = is_steady ? most : below(most + 1); n > 0; --n) queue.push_back(room(8));
        if ((i + phase) % period == 0) queue.clear();
      });
      ASSERT_EQ(at, 0) << "patience " << patience << ", period " << period << ", phase " << phase
                       << ", " << most << " a mark";
    }
  }
}

/// One tensor in k marks is found as soon as the header says, wherever it begins.
TEST(LeakGuard, GrowthIsFoundWithinTheStatedMarks) {
  std::mt19937 random(8);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  for (int every = 1; every <= 16; ++every) {
    for (int round = 0; round < 8; ++round) {
      LeakGuard guard;
      const int begin = 3 + below(200);
      const int phase = below(every);
      std::vector<Tensor> leak;
      Tensor varying;
      const int at = complains_at(guard, begin + 36 * 16, [&](int i) {
        varying = room(below(100));
        if (i > begin && (i + phase) % every == 0) leak.push_back(room(16));
      });
      EXPECT_GT(at, begin) << "one in " << every;
      EXPECT_LE(at, begin + std::max(72, 36 * every)) << "one in " << every << " from " << begin;
    }
  }
}

TEST(LeakGuard, FindsALeakAfterTheLevelFell) {
  LeakGuard guard;
  std::vector<Tensor> held;
  const auto step = [&](int i) {
    if (i == 1) {
      for (int n = 0; n < 500; ++n) held.push_back(room(4));
    }
    if (i == 5) held.clear();
    if (i > 5) held.push_back(room(4));
  };
  const int at = complains_at(guard, 200, step);
  EXPECT_GT(at, 0);
  EXPECT_LE(at, 5 + 72);
}

TEST(LeakGuard, FindsALeakThatBeginsLate) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  const int at = complains_at(guard, 2000, [&](int i) {
    if (i > 1000) leak.push_back(room(4));
  });
  EXPECT_GT(at, 1000);
  EXPECT_LE(at, 1000 + 72);
}

TEST(LeakGuard, FindsASlowLeak) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  const int at = complains_at(guard, 10'000, [&](int i) {
    if (i % 100 == 0) leak.push_back(room(4));
  });
  EXPECT_GT(at, 0);
  EXPECT_LE(at, 3000);
}

TEST(LeakGuard, SlackForgivesBytesButNoTensors) {
  LeakGuard guard("loop", {.slack_bytes = 1000});
  Tensor growing;
  EXPECT_EQ(complains_at(guard, 90, [&](int i) { growing = room(i * 10); }), 0);
  EXPECT_NE(complains_at(guard, 90, [&](int i) { growing = room(2000 + i); }), 0);
  std::vector<Tensor> leak;
  EXPECT_NE(complains_at(guard, 90, [&](int) { leak.push_back(room(0)); }), 0);
}

TEST(LeakGuard, RejectsNonsense) {
  EXPECT_THROW(LeakGuard("x", {.warm_up = -1}), ValueError);
  EXPECT_THROW(LeakGuard("x", {.patience = 0}), ValueError);
  EXPECT_THROW(LeakGuard("x", {.slack_bytes = -1}), ValueError);
}

TEST(LeakGuard, FindsDisposedTensorsWhoseHandlesPileUp) {
  LeakGuard guard("handles");
  std::vector<Tensor> handles;
  std::string line;
  for (int i = 1; i < kSoon; ++i) {
    handles.push_back(room(4));
    line = to_string(handles.back().created());
    handles.back().dispose();
    guard.mark();
  }
  test::expect_throws<LeakError>([&] { guard.mark(); },
                                 {"handles keeps 0.969 more disposed tensors a step at " + line,
                                  "handles of 66 disposed tensors remain", "then of 35",
                                  "room at " + line, "35 -> 66 disposed"});
}

TEST(LeakGuard, CountsEveryEndOfABody) {
  LeakGuard guard;
  EXPECT_EQ(complains_at(guard, 200,
                         [&](int i) {
                           const CategoryScope category(i % 2 == 0 ? Category::activation
                                                                   : Category::cache);
                           const Tensor plain = room(4);
                           const Tensor view = test::share(plain);
                           const Tensor disposed = room(4);
                           disposed.dispose();
                           disposed.dispose();
                           Tensor named = room(4);
                           named.set_name("named");
                           const Scope scope;
                           Tensor elsewhere = room(4);
                           test::on_thread([&] { elsewhere = Tensor(); });
                           const Tensor in_scope = room(4);
                         }),
            0);
  std::vector<Tensor> handles;
  EXPECT_NE(complains_at(guard, 90,
                         [&](int) {
                           handles.push_back(tidy([] {
                             const Tensor gone = room(1);
                             return gone;
                           }));
                           handles.back().dispose();
                         }),
            0);
}

TEST(GrowthText, SaysNumbersAsPeopleDo) {
  EXPECT_EQ(mem::more_text(1, "graph node"), "1 more graph node");
  EXPECT_EQ(mem::more_text(1.5, "graph node"), "1.5 more graph nodes");
  EXPECT_EQ(mem::more_text(99.96, "trace"), "100 more traces");
  EXPECT_EQ(mem::more_text(1634, "graph node"), "1634 more graph nodes");
}

}  // namespace
}  // namespace tenure
