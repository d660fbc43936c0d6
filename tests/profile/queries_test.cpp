#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>

#include "tenure/profile/queries.h"
#include "tenure/tenure.h"
#include "tests/profile/read_recording.h"

// What recordings answer.

namespace tenure {
namespace {

using profile::GroupBy;
using test::Recording;

TEST(Queries, ThePeakByOpLineScopeAndCategory) {
  const std::int64_t before = memory().bytes;
  const Recording r([] {
    const NameScope outer("model");
    const Tensor small = ones({10});
    {
      const NameScope inner("head");
      const CategoryScope category(Category::gradient);
      const Tensor large = zeros({100});
      const Tensor largest = full({1000}, 1.0);
    }
    const Tensor later = ones({20});
  });
  const profile::Level highest = peak(r.history);
  EXPECT_EQ(highest.bytes, before + 4 * 1110);
  EXPECT_EQ(highest.category[static_cast<std::size_t>(Category::gradient)], 4400);
  const auto ops = live_at(r.history, highest.time_ns, GroupBy::op);
  EXPECT_EQ(ops[0].name, "full");
  EXPECT_EQ(ops[0].bytes, 4000);
  const auto scopes = live_at(r.history, highest.time_ns, GroupBy::scope);
  EXPECT_EQ(scopes[0].name, "model/head");
  EXPECT_EQ(scopes[0].bytes, 4400);
  EXPECT_EQ(scopes[0].storages, 2);
  const auto categories = live_at(r.history, highest.time_ns, GroupBy::category);
  EXPECT_EQ(categories[0].name, "gradient");
  const auto lines = live_at(r.history, highest.time_ns, GroupBy::line);
  EXPECT_TRUE(lines[0].name.starts_with("full at queries_test.cpp:")) << lines[0].name;
}

TEST(Queries, TheTimelineHasThePeak) {
  const Recording r([] {
    for (int i = 0; i < 200; ++i) const Tensor x = ones({i + 1});
  });
  const std::int64_t highest = peak(r.history).bytes;
  const std::vector<profile::Level> levels = timeline(r.history, 50);
  ASSERT_EQ(levels.size(), 50u);
  std::int64_t seen = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    seen = std::max(seen, levels[i].bytes);
    EXPECT_GE(levels[i].time_ns, levels[i == 0 ? 0 : i - 1].time_ns);
  }
  EXPECT_EQ(seen, highest);
}

TEST(Queries, GrowthNamesTheLine) {
  std::vector<Tensor> kept;
  Site line;
  const Recording grows([&] {
    for (int i = 0; i < 20; ++i) {
      kept.push_back(ones({8}, float32, line = Site::current()));
      const Tensor temporary = zeros({100});
      mark_step("train");
    }
  });
  const std::vector<profile::Loop> loops = growth(grows.history);
  ASSERT_EQ(loops.size(), 1u);
  EXPECT_EQ(loops[0].name, "train");
  EXPECT_EQ(loops[0].steps, 20);
  ASSERT_EQ(loops[0].growing.size(), 1u);
  EXPECT_EQ(grows.recorded.origin(loops[0].growing[0].origin).line, line.line());
  EXPECT_DOUBLE_EQ(loops[0].growing[0].bytes_per_step, 32);
  EXPECT_DOUBLE_EQ(loops[0].growing[0].storages_per_step, 1);
}

TEST(Queries, WhatComesOnceIsNoGrowthAndWhatComesSlowlyIs) {
  std::vector<Tensor> kept;
  const auto grows = [&](const std::function<bool(int)>& keeps, int steps = 40) {
    const Recording r([&] {
      for (int i = 0; i < steps; ++i) {
        if (keeps(i)) kept.push_back(ones({8}));
        mark_step();
      }
    });
    return !growth(r.history).at(0).growing.empty();
  };
  for (const int once : {0, 5, 20, 38, 39}) {
    EXPECT_FALSE(grows([&](int i) { return i == once; })) << once;
  }
  EXPECT_FALSE(grows([](int i) { return i == 10 || i == 39; })) << "two sizes of batches";
  EXPECT_TRUE(grows([](int i) { return i % 7 == 0; }, 260));
  EXPECT_FALSE(grows([](int i) { return i < 80 && i % 7 == 0; }, 260)) << "it is full";
  EXPECT_TRUE(grows([](int) { return true; }));
}

TEST(Queries, ViewsGrowWithoutBytes) {
  const Recording r([] {
    const Tensor base = ones({8});
    std::vector<Tensor> kept;
    for (int i = 0; i < 20; ++i) {
      kept.push_back(reshape(base, {2, 4}));
      mark_step();
    }
  });
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_EQ(loops[0].growing.size(), 1u);
  const profile::Growth& line = loops[0].growing[0];
  EXPECT_EQ(r.recorded.origin(line.origin).op, "reshape");
  EXPECT_DOUBLE_EQ(line.sharers_per_step, 1);
  EXPECT_DOUBLE_EQ(line.bytes_per_step, 0);
}

TEST(Queries, ASteadyLoopDoesNotGrow) {
  const Recording r([] {
    Tensor state = ones({8});
    for (int i = 0; i < 20; ++i) {
      state = state * 0.5;
      mark_step();
    }
    std::vector<Tensor> warm;
    for (int i = 0; i < 3; ++i) {
      warm.push_back(ones({1}));
      mark_step("short");
    }
  });
  const std::vector<profile::Loop> loops = growth(r.history);
  ASSERT_EQ(loops.size(), 2u);
  for (const profile::Loop& loop : loops) EXPECT_TRUE(loop.growing.empty()) << loop.name;
  EXPECT_EQ(loops[0].name, "short");
  EXPECT_FALSE(loops[0].can_tell);
  EXPECT_TRUE(loops[1].can_tell);
}

TEST(Queries, EndingsLateEarlyAndNever) {
  static Tensor never;
  const Recording r([] {
    Tensor late = full({1000}, 1.0);
    const Tensor y = relu(late);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const Tensor more = zeros({1000});
    late = Tensor();
    const Tensor base = ones({10});
    const Tensor view = reshape(base, {5, 2});
    base.dispose();
    never = arange(7);
  });
  const profile::Endings all = endings(r.history);
  ASSERT_FALSE(all.late.empty());
  const auto op_of = [&](const profile::Ending& e) { return r.recorded.origin(e.origin).op; };
  const auto late = std::find_if(all.late.begin(), all.late.end(),
                                 [&](const auto& e) { return op_of(e) == "full"; });
  ASSERT_NE(late, all.late.end());
  EXPECT_GE(late->idle_seconds, 0.019);
  ASSERT_EQ(all.early.size(), 1u);
  EXPECT_EQ(op_of(all.early[0]), "dispose()");
  const auto left = std::find_if(all.never.begin(), all.never.end(),
                                 [&](const auto& e) { return op_of(e) == "arange"; });
  ASSERT_NE(left, all.never.end());
  EXPECT_EQ(left->bytes, 56);
  EXPECT_LE(all.least_peak, peak(r.history).bytes - 4000) << "full was idle at the peak";
  never = Tensor();
}

TEST(Queries, AnArenaIsNotIdle) {
  const Tensor w = full({16, 16}, 0.1);
  const auto model =
      function([&](const Tensor& x) { return matmul(tanh(matmul(x, w)), w); }, {.name = "predict"});
  const Tensor x = ones({8, 16});
  const Recording r([&] { model(x); });
  const profile::Endings all = endings(r.history);
  const auto arena = std::find_if(all.late.begin(), all.late.end(), [&](const auto& ending) {
    return r.recorded.origin(ending.origin).op == "predict";
  });
  ASSERT_NE(arena, all.late.end());
  EXPECT_EQ(arena->idle_seconds, 0);
  EXPECT_EQ(arena->idle_byte_seconds, 0);
}

TEST(Queries, WhatABudgetWouldHaveDone) {
  const std::int64_t before = memory().bytes;
  const Recording r([] {
    const Tensor a = ones({100});
    const Tensor b = zeros({100});
  });
  EXPECT_TRUE(with_budget(r.history, before + 800).fits);
  EXPECT_EQ(with_budget(r.history, before + 1000).over, -200);
  const profile::BudgetEffect effect = with_budget(r.history, before + 799);
  EXPECT_FALSE(effect.fits);
  EXPECT_EQ(effect.over, 1);
  ASSERT_NE(effect.refused, nullptr);
  EXPECT_EQ(r.recorded.origin(effect.refused->origin).op, "zeros");
}

TEST(Queries, DifferencesNameWhatChanged) {
  const auto program = [](std::int64_t n) {
    return [n] {
      const Tensor same = ones({10});
      const Tensor other = zeros({n});
    };
  };
  const Recording a(program(10));
  const Recording b(program(100));
  const profile::Difference d = difference(a.history, b.history);
  EXPECT_EQ(d.peak_after - d.peak_before, 360);
  ASSERT_EQ(d.changes.size(), 1u);
  EXPECT_TRUE(d.changes[0].name.starts_with("zeros at")) << d.changes[0].name;
  EXPECT_TRUE(difference(a.history, a.history).changes.empty());
}

}  // namespace
}  // namespace tenure
