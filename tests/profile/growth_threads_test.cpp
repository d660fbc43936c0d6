#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tenure/profile/growth.h"
#include "tenure/profile/report.h"
#include "tenure/tenure.h"
#include "tests/profile/growth_of.h"
#include "tests/profile/read_recording.h"

// Threads that leak: until they end, or after the last mark.

namespace tenure {
namespace {

using profile::Growth;
using profile::Loop;
using test::line_of;
using test::Recording;
using test::this_line;

/// A thread that keeps tensors, and then a main thread that goes on without it; if asked, after
/// threads that had the same number, and with another one that gets it.
struct Ended {
  enum class Table { kept, read, freed };
  explicit Ended(Table table, bool is_marked = false, bool is_one_of_many = false)
      : recording([&] {
          const Tensor first = zeros({1});
          const auto others = [&] {
            for (int i = 0; is_one_of_many && i < 3; ++i) {
              std::thread([] {
                for (int i = 0; i < 700; ++i) const Tensor temporary = zeros({100});
              }).join();
            }
          };
          others();
          std::thread([&] {
            for (int i = 0; i < 1000; ++i) {
              const Tensor temporary = zeros({100});
              kept.push_back(ones({256}, float32, line = this_line()));
            }
          }).join();
          others();
          for (int i = 0; i < 1500; ++i) {
            const Tensor temporary = zeros({100});
            if (table == Table::read && i % 10 == 0) {
              const Tensor read = kept[static_cast<std::size_t>(i) % 7] + 1;
            }
            if (is_marked) mark_step("train");
          }
          if (table == Table::freed) kept.clear();
        }) {}
  std::vector<Tensor> kept;
  Site line;
  Recording recording;
};

TEST(Growth, AThreadThatGrewUntilItEndedIsTold) {
  for (const auto& [is_marked, is_one_of_many] :
       {std::pair(false, false), std::pair(true, false), std::pair(false, true)}) {
    const Ended leak(Ended::Table::kept, is_marked, is_one_of_many);
    const std::vector<Loop> loops = growth(leak.recording.history);
    ASSERT_FALSE(loops.empty());
    ASSERT_FALSE(loops.back().growing.empty());
    const Loop& loop = loops.back();
    EXPECT_EQ(line_of(leak.recording, loop.growing[0]), leak.line.line());
    EXPECT_EQ(loop.name.find("number 4 of that name") != loop.name.npos, is_one_of_many)
        << loop.name;
    const std::string text = judgement(loop, leak.recording.recorded);
    for (const char* const part : {"thread ", "grew by ", "its last allocation; nobody has used"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
    const bool has_moments =
        report_data(leak.recording.history).find("\"moments\":[]") == std::string::npos;
    EXPECT_EQ(has_moments, !is_marked) << "the page shows the marks where there are some";
    for (const Loop& other : loops) {
      EXPECT_TRUE(other.is_marked || !other.growing.empty()) << "the program is not steady";
    }
  }
}

TEST(Growth, AThreadThatGoesOnAfterTheLastMarkIsTold) {
  std::vector<Tensor> kept;
  Site line;
  for (const bool marks_go_on : {false, true}) {
    kept.clear();
    const Recording r([&] {
      std::thread worker;
      const auto leak = [&] {
        for (int i = 0; i < 1000; ++i) {
          const Tensor temporary = zeros({100});
          kept.push_back(ones({256}, float32, line = this_line()));
          if (marks_go_on) std::this_thread::yield();
        }
      };
      if (marks_go_on) worker = std::thread(leak);
      for (int i = 0; i < 100 || (marks_go_on && i < 2000); ++i) {
        const Tensor temporary = zeros({100});
        mark_step("train");
      }
      if (!marks_go_on) worker = std::thread(leak);
      worker.join();
    });
    int told = 0;
    for (const Loop& loop : growth(r.history)) {
      for (const Growth& one : loop.growing) told += line_of(r, one) == line.line() ? 1 : 0;
    }
    EXPECT_EQ(told, 1) << (marks_go_on ? "beside marks" : "after them");
  }
}

TEST(Growth, ATableThatAThreadFilledIsNone) {
  for (const Ended::Table table : {Ended::Table::read, Ended::Table::freed}) {
    const Ended clean(table);
    for (const Loop& loop : growth(clean.recording.history)) {
      EXPECT_TRUE(loop.growing.empty()) << judgement(loop, clean.recording.recorded);
    }
  }
}

}  // namespace
}  // namespace tenure
