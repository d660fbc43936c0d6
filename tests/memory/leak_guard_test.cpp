#include "tenure/memory/leak_guard.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(LeakGuard, FindsOneTensorPerIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { leak.push_back(room(4)); }), 6)
      << "three to warm up, three to be sure";
}

TEST(LeakGuard, FindsAnEmptyTensorPerIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { leak.push_back(room(0)); }), 6);
}

TEST(LeakGuard, FindsALeakInEveryTenthIteration) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  const int at = complains_at(guard, 100, [&](int i) {
    if (i % 10 == 0) leak.push_back(room(4));
  });
  EXPECT_EQ(at, 12);
}

TEST(LeakGuard, FindsATensorThatGrows) {
  LeakGuard guard;
  Tensor growing;
  EXPECT_EQ(complains_at(guard, 100, [&](int i) { growing = room(i * 10); }), 6);
}

TEST(LeakGuard, FindsViewsThatPileUp) {
  const Tensor base = room(1000);
  LeakGuard guard;
  std::vector<Tensor> views;
  EXPECT_EQ(complains_at(guard, 100, [&](int) { views.push_back(test::share(base)); }), 6);
}

TEST(LeakGuard, FindsALeakOfAnotherThread) {
  LeakGuard guard;
  std::vector<Tensor> leak;
  EXPECT_EQ(
      complains_at(guard, 100, [&](int) { test::on_thread([&] { leak.push_back(room(4)); }); }), 6);
}

TEST(LeakGuard, NamesTheLine) {
  LeakGuard guard("serving");
  std::vector<Tensor> leak;
  const Tensor innocent = room(5000);
  std::string line;
  for (int i = 0; i < 5; ++i) {
    leak.push_back(room(100));
    line = to_string(leak.back().created());
    guard.mark();
  }
  leak.push_back(room(100));
  test::expect_throws<LeakError>([&] { guard.mark(); }, {"\"serving\" leaks: after iteration 6",
                                                         "room at " + line, "3 -> 5 tensors"});
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

TEST(LeakGuard, PatienceForgivesASpike) {
  LeakGuard guard;
  Tensor spike;
  EXPECT_EQ(complains_at(guard, 100,
                         [&](int i) {
                           spike = Tensor();
                           if (i % 3 != 0) spike = room(100);
                         }),
            0)
      << "two iterations above the baseline are no trend";
}

TEST(LeakGuard, SlackForgivesBytesButNoTensors) {
  LeakGuard guard("loop", {.slack_bytes = 1000});
  Tensor growing;
  EXPECT_EQ(complains_at(guard, 60, [&](int i) { growing = room(i * 10); }), 0);
  EXPECT_NE(complains_at(guard, 60, [&](int i) { growing = room(2000 + i); }), 0);
  std::vector<Tensor> leak;
  EXPECT_NE(complains_at(guard, 60, [&](int) { leak.push_back(room(0)); }), 0);
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
  for (int i = 0; i < 5; ++i) {
    handles.push_back(room(4));
    line = to_string(handles.back().created());
    handles.back().dispose();
    guard.mark();
  }
  handles.push_back(room(4));
  handles.back().dispose();
  test::expect_throws<LeakError>([&] { guard.mark(); },
                                 {"handles of 6 disposed tensors remain", "after the warm-up of 3",
                                  "room at " + line, "3 -> 5 disposed"});
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
  EXPECT_NE(complains_at(guard, 20,
                         [&](int) {
                           handles.push_back(tidy([] {
                             const Tensor gone = room(1);
                             return gone;
                           }));
                           handles.back().dispose();
                         }),
            0);
}

}  // namespace
}  // namespace tenure
