#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tenure/tenure.h"

// A function that is traced again and again says so, and why: the reason, how often, and what would
// help.

namespace tenure {
namespace {

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Function, WarnsWhenItIsTracedTooOften) {
  std::vector<std::string> warnings;
  const auto f = function([](const Tensor& x) { return x + 1; },
                          {.name = "f", .warn_after = 2, .warn = [&](const std::string& text) {
                             warnings.push_back(text);
                           }});
  for (std::int64_t n = 1; n <= 4; ++n) static_cast<void>(f(ones({n})));
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(
      contains(warnings[1], "traced 4 times, now because: tensor 0 has shape [4], had [3]"));
}

TEST(Function, WarnsLessOftenTheMoreItIsTraced) {
  std::vector<std::string> warnings;
  const auto f = function([](const Tensor& x) { return x + 1; },
                          {.name = "f", .warn_after = 4, .warn = [&](const std::string& text) {
                             warnings.push_back(text);
                           }});
  for (std::int64_t n = 1; n <= 100; ++n) static_cast<void>(f(ones({n})));
  // Of the first one too many, then of the 8th, 16th, 32nd and 64th.
  ASSERT_EQ(warnings.size(), 5u);
  EXPECT_TRUE(contains(warnings[0], "traced 5 times"));
  EXPECT_TRUE(contains(warnings[1], "traced 8 times"));
  EXPECT_TRUE(contains(warnings[4], "traced 64 times"));
}

TEST(Function, BeginsToCountAnewWhenItIsCleared) {
  std::vector<std::string> warnings;
  auto f = function([](const Tensor& x) { return x + 1; },
                    {.name = "f", .warn_after = 2, .warn = [&](const std::string& text) {
                       warnings.push_back(text);
                     }});
  for (int i = 0; i < 20; ++i) {
    static_cast<void>(f(ones({2})));
    static_cast<void>(f(ones({3})));
    f.clear();
  }
  EXPECT_TRUE(warnings.empty()) << warnings[0];
  for (std::int64_t n = 1; n <= 3; ++n) static_cast<void>(f(ones({n})));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_TRUE(contains(warnings[0], "traced 3 times"));
}

TEST(Function, AdvisesABatchOnlyWhereItHelps) {
  std::string warning;
  const auto make = [&](std::vector<int> batched) {
    return function([](const Tensor& x) { return x + 1; },
                    {.batched = std::move(batched), .warn_after = 1, .warn = [&](auto& text) {
                       warning = text;
                     }});
  };
  const auto advises = [&](const Shape& first, const Shape& second, std::vector<int> batched) {
    const auto f = make(std::move(batched));
    warning.clear();
    static_cast<void>(f(ones(first)));
    static_cast<void>(f(ones(second)));
    EXPECT_TRUE(contains(warning, "traced 2 times")) << warning;
    return contains(warning, ".batched");
  };
  EXPECT_TRUE(advises({2, 3}, {4, 3}, {}));
  EXPECT_FALSE(advises({2, 3}, {2, 4}, {}));
  EXPECT_FALSE(advises({2, 3}, {4, 4}, {0}));
  EXPECT_FALSE(advises({2, 3}, {2, 3, 1}, {}));
  // The first call under a tape is the first of its kind: there is nothing that it differs from.
  const auto f = make({});
  const Tensor x = ones({4, 3});
  warning.clear();
  static_cast<void>(f(x));
  GradientTape tape;
  tape.watch(x);
  static_cast<void>(f(x));
  EXPECT_TRUE(contains(warning, "called under a gradient tape")) << warning;
  EXPECT_FALSE(contains(warning, ".batched")) << warning;
}

TEST(Function, ATraceAfterFailedOnesIsNotTheFirst) {
  std::string warning;
  bool fails = true;
  const auto f = function(
      [&](const Tensor& x) {
        if (fails) throw ValueError("not yet");
        return x + 1;
      },
      {.warn_after = 1, .warn = [&](const std::string& text) { warning = text; }});
  for (int i = 0; i < 2; ++i) EXPECT_THROW(f(ones({2})), ValueError);
  EXPECT_TRUE(contains(warning, "traced 2 times, now because: no call before succeeded"))
      << warning;
  fails = false;
  EXPECT_EQ(f(ones({2})).to_vector<float>(), (std::vector<float>{2, 2}));
  f(ones({3}));
  EXPECT_TRUE(contains(f.explain(), "had [2]")) << f.explain();
}

}  // namespace
}  // namespace tenure
