#include "tenure/profile/growth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/profile/growth_of.h"
#include "tests/profile/read_recording.h"
#include "tests/support/sanitized.h"

// Which programs leak, where, and since when: told from recordings, and the same by a LeakGuard.

namespace tenure {
namespace {

using profile::Growth;
using profile::Loop;
using test::judged;
using test::line_of;
using test::Recording;
using test::this_line;

std::string lines_of(const Recording& r, const Loop& loop) {
  std::string text = judgement(loop, r.recorded);
  for (const Growth& one : loop.growing) {
    const profile::Origin& origin = r.recorded.origin(one.origin);
    text += "\n" + std::string(origin.op) + " at " + std::to_string(origin.line) + " " +
            std::to_string(one.number) + " since " + std::to_string(one.since_step);
  }
  return text;
}

/// Random numbers for programs.
class Dice {
 public:
  explicit Dice(unsigned seed) : random_(seed) {}
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  int between(int low, int high) { return low + below(high - low + 1); }

 private:
  std::mt19937 random_;
};

/// What has a bound: it comes and goes, fills up and stays, varies.
class Clean {
 public:
  explicit Clean(Dice& dice)
      : dice_(dice),
        full_(dice.between(1, 60)),
        fill_every_(dice.between(1, 8)),
        period_(dice.between(1, 300)),
        handles_(dice.between(1, 20)) {
    for (int i = 0; i < 40; ++i) taken_over_.push_back(ones({8}));
  }

  void step(int i) {
    const Tensor temporary = relu(weights_ * 2.0);
    varying_ = zeros({dice_.between(1, 500)});
    if (i % fill_every_ == 0 && static_cast<int>(cache_.size()) < full_)
      cache_.push_back(ones({32}));
    flushed_.push_back(ones({4}));
    if (i % period_ == 0) flushed_.clear();
    if (dice_.below(2) == 0 && queue_.size() < 10) queue_.push_back(ones({dice_.between(1, 64)}));
    if (dice_.below(3) == 0 && !queue_.empty()) queue_.pop_front();
    disposed_.push_back(ones({4}));
    disposed_.back().dispose();
    if (i % handles_ == 0) disposed_.clear();
    // Another line makes what is there anew, one by one.
    taken_over_[static_cast<std::size_t>(i) % taken_over_.size()] = full({8}, 2.0);
    if (i < 20) warm_up_.push_back(ones({1000}));
  }

 private:
  Dice& dice_;
  int full_, fill_every_, period_, handles_;
  Tensor weights_ = ones({16});
  Tensor varying_;
  std::vector<Tensor> cache_, flushed_, disposed_, taken_over_, warm_up_;
  std::deque<Tensor> queue_;
};

TEST(Growth, CleanProgramsAreClean) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(test::rounds(60)); ++seed) {
    Dice dice(seed);
    const bool is_marked = seed % 3 != 0;
    const int steps = dice.between(700, 1500);
    const Recording r([&] {
      Clean program(dice);
      for (int i = 0; i < steps; ++i) {
        program.step(i);
        if (is_marked) mark_step("train");
      }
    });
    const Loop loop = judged(r);
    EXPECT_TRUE(loop.can_tell) << "seed " << seed;
    EXPECT_EQ(loop.is_marked, is_marked);
    EXPECT_TRUE(loop.growing.empty()) << "seed " << seed << ": " << judgement(loop, r.recorded);
  }
}

/// What leaks, and from which line.
class Leak {
 public:
  enum Kind { kTensor, kLarger, kView, kDisposed, kScoped, kKinds };
  Leak(Kind kind, int floats) : kind_(kind), floats_(floats) {}

  void add() {
    switch (kind_) {
      case kTensor:
        kept_.push_back(ones({floats_}, float32, line_ = this_line()));
        return;
      case kLarger:
        larger_ += floats_;
        grown_ = ones({larger_}, float32, line_ = this_line());
        return;
      case kView: {  // the whole is held by a part of it
        const Tensor whole = ones({floats_, 2}, float32, line_ = this_line());
        kept_.push_back(slice(whole, 0, 0, 1));
        return;
      }
      case kDisposed:
        kept_.push_back(ones({floats_}, float32, line_ = this_line()));
        kept_.back().dispose();
        return;
      default: {  // in a scope of another name each time
        const NameScope name("step" + std::to_string(++times_));
        kept_.push_back(ones({floats_}, float32, line_ = this_line()));
      }
    }
  }
  std::uint32_t line() const { return line_.line(); }
  double bytes_each() const {
    return kind_ == kDisposed ? 0 : kind_ == kView ? 8 * floats_ : 4 * floats_;
  }

 private:
  Kind kind_;
  int floats_;
  int larger_ = 0;
  int times_ = 0;
  Site line_;
  Tensor grown_;
  std::vector<Tensor> kept_;
};

TEST(Growth, LeaksAreFoundWhereverAndWheneverTheyBegin) {
  for (unsigned seed = 0; seed < static_cast<unsigned>(test::rounds(100)); ++seed) {
    Dice dice(1000 + seed);
    const auto kind = static_cast<Leak::Kind>(seed % Leak::kKinds);
    const bool is_marked = dice.below(3) != 0;
    const int every = is_marked ? dice.between(1, 6) : 1;
    const int steps = dice.between(800, 1500);
    const int begin = dice.between(0, steps - 36 * every - 120);
    Leak leak(kind, dice.between(1, 300));
    const Recording r([&] {
      Clean program(dice);
      LeakGuard guard("train", {.warm_up = 20, .report = [&](const LeakError&) {}});
      for (int i = 0; i < steps; ++i) {
        program.step(i);
        if (i >= begin && i % every == 0) leak.add();
        if (is_marked) guard.mark();
      }
    });
    const Loop loop = judged(r);
    EXPECT_EQ(loop.is_marked, is_marked);
    const auto found =
        std::find_if(loop.growing.begin(), loop.growing.end(),
                     [&](const Growth& one) { return line_of(r, one) == leak.line(); });
    if (found == loop.growing.end()) {
      ADD_FAILURE() << "seed " << seed << ", kind " << kind << ", one in " << every << " from "
                    << begin << " of " << steps << (is_marked ? "" : ", no marks") << ": "
                    << judgement(loop, r.recorded);
      continue;
    }
    EXPECT_LE(loop.growing.size(), kind == Leak::kView ? 2u : 1u)
        << "seed " << seed << ": " << lines_of(r, loop);
    if (!is_marked) continue;
    EXPECT_NEAR(found->bytes_per_step, leak.bytes_each() / every, 0.1 * leak.bytes_each() / every)
        << "seed " << seed << ", kind " << kind;
    EXPECT_GE(found->since_step, begin + 1) << "seed " << seed;
    EXPECT_LE(found->since_step, std::max(begin, 3) + 2 + every) << "seed " << seed;
    EXPECT_EQ(found->what, kind == Leak::kDisposed ? "disposed tensor" : "");
    if (kind == Leak::kView) {
      ASSERT_FALSE(found->holders.empty());
      EXPECT_EQ(r.recorded.origin(found->holders[0].origin).op, "slice");
    } else {
      EXPECT_TRUE(found->holders.empty());
    }
  }
}

TEST(Growth, TheGuardAndTheRecordingAgree) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    Dice dice(2000 + seed);
    const bool leaks = seed % 2 == 0;
    const int steps = 600;
    int complaints = 0;
    std::vector<Tensor> kept;
    const Recording r([&] {
      LeakGuard guard("loop", {.warm_up = 30, .report = [&](const LeakError&) { ++complaints; }});
      std::vector<Tensor> flushed;
      Tensor varying;
      const int period = dice.between(1, 64);
      const int begin = dice.between(0, 400);
      for (int i = 0; i < steps; ++i) {
        varying = ones({dice.between(1, 100)});
        flushed.push_back(ones({4}));
        if (i % period == 0) flushed.clear();
        if (leaks && i >= begin) kept.push_back(zeros({dice.between(1, 64)}));
        guard.mark();
      }
    });
    EXPECT_EQ(complaints > 0, leaks) << "seed " << seed;
    EXPECT_EQ(!judged(r).growing.empty(), leaks) << "seed " << seed;
  }
}

TEST(Growth, SaysItInOneSentence) {
  std::vector<Tensor> kept;
  Site line;
  Site holder;
  const Recording r([&] {
    for (int i = 1; i <= 400; ++i) {
      if (i > 200) {
        const Tensor whole = ones({4096}, float32, line = this_line());
        kept.push_back(slice(Operand(whole, holder = this_line()), 0, 0, 1));
      }
      const Tensor temporary = zeros({100});
      mark_step("train");
    }
  });
  const Loop loop = judged(r);
  ASSERT_FALSE(loop.growing.empty());
  EXPECT_EQ(loop.growing[0].since_step, 201);
  std::string text = judgement(loop, r.recorded);
  if (const std::size_t callers = text.find(", called by ");
      callers != text.npos) {  // of a library
    text.erase(callers, text.find(", held by") - callers);
  }
  EXPECT_EQ(text, "train grows 16.00 KiB a step at growth_test.cpp:" + std::to_string(line.line()) +
                      ", held by slice at growth_test.cpp:" + std::to_string(holder.line()) +
                      ", since step 201; 1 more line grows");
  const Recording steady([] {
    for (int i = 0; i < 100; ++i) mark_step("idle");
  });
  EXPECT_EQ(judgement(judged(steady), steady.recorded),
            "idle is steady: no line holds more and more");
}

/// It may be a table, too: what is left is told.
TEST(Growth, WhatAProgramLeavesIsTold) {
  std::vector<Tensor> kept;
  Site line;
  const Recording r([&] {
    for (int i = 0; i < 1000; ++i) {
      const Tensor temporary = zeros({100});
      if (i < 300) kept.push_back(ones({1024}, float32, line = this_line()));
    }
  });
  EXPECT_EQ(
      judgement(judged(r), r.recorded),
      "the program is steady: no line holds more and more; 1.17 MiB in 300 storages by ones at "
      "growth_test.cpp:" +
          std::to_string(line.line()) + " are live at the end");
}

}  // namespace
}  // namespace tenure
