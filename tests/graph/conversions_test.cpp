#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/make.h"
#include "tests/support/same_bits.h"

// Conversions go into loops, where they give what they give alone.

namespace tenure {
namespace {

using test::expect_same_bits;

constexpr DType kTypes[] = {boolean, uint8,   int8,     int16,   int32,
                            int64,   float16, bfloat16, float32, float64};

/// Numbers that conversions do something with: halves, those past what integers hold, and no
/// numbers.
Tensor numbers_of(DType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> values{
      0,    0.5,   -0.5,      1,    -1,         1.5,  2.5,    -2.5,       127,  128,     -129,
      255,  256,   300.7,     -1e4, 65504,      7e4,  -40000, 3e9,        -3e9, 1e19,    -1e19,
      1e30, 1e-30, kInfinity, 1e-7, -kInfinity, 3e38, 1e300,  1.00390625, 2049, 16777217};
  values.push_back(std::nan(""));
  for (int i = 0; i < 40; ++i) values.push_back(0.37 * i * i - 100);
  return cast(test::make<double>({static_cast<std::int64_t>(values.size())}, values), type);
}

TEST(Conversions, GiveInLoopsWhatTheyGiveAlone) {
  for (const DType first : kTypes) {
    const Tensor x = numbers_of(first);
    for (const DType second : kTypes) {
      for (const DType third : kTypes) {
        const std::string name =
            std::string(name_of(first)) + " to " + std::string(name_of(second)) + " to ";
        SCOPED_TRACE(name + std::string(name_of(third)));
        const auto convert = [&](const Tensor& t) { return cast(cast(t, second), third); };
        const auto f = function(convert);
        expect_same_bits(f(x), convert(x));
        if (first == second || second == third || second == boolean) continue;
        const auto between = [&](const Tensor& t) { return cast(cast(t, second) + 1, third); };
        const auto g = function(between);
        expect_same_bits(g(x), between(x));
        // One that makes numbers shorter stays where it is: its input goes then.
        EXPECT_LE(g.plan(spec(x.shape(), first)).steps.size(), 2u);
      }
    }
  }
}

std::size_t steps_of(const Tensor& x, const std::function<Tensor(const Tensor&)>& body) {
  const auto f = function(body);
  expect_same_bits(f(x), body(x));
  const MemoryRegion region;
  const Tensor again = f(x);
  const Plan plan = f.plan(spec(x.shape(), x.dtype()));
  EXPECT_EQ(region.peak_bytes(), plan.peak);
  return plan.steps.size();
}

TEST(Conversions, JoinTheLoopsThatReadThem) {
  const Tensor x = normal({300, 40});
  const Tensor narrow = cast(x, bfloat16);
  const auto widened = [](const Tensor& t) { return tanh(cast(t, float32)) + 1; };
  EXPECT_EQ(steps_of(narrow, widened), 1u);
  const auto narrowed = [](const Tensor& t) { return cast(tanh(t) * 2, bfloat16); };
  EXPECT_EQ(steps_of(x, narrowed), 1u);
  const auto both = [](const Tensor& t) { return cast(exp(cast(t, float32)), bfloat16); };
  EXPECT_EQ(steps_of(narrow, both), 1u);
}

/// What is there anyway may be converted where it is read. What was computed would stay longer, and
/// is larger than what it is converted to.
TEST(Conversions, MakeNothingStay) {
  const Tensor x = normal({300, 40});
  const Tensor weight = normal({300, 40});
  const auto given = [](const Tensor& t) { return cast(t, bfloat16) * cast(t, bfloat16); };
  EXPECT_EQ(steps_of(x, given), 1u);
  const auto computed = [&](const Tensor& t) {
    const Tensor kept = cast(matmul(t, transpose(weight)), bfloat16);
    return kept + cast(sum(matmul(t, transpose(weight)) * 2), bfloat16) * kept;
  };
  const auto f = function(computed);
  expect_same_bits(f(x), computed(x));
}

TEST(Conversions, AloneAreKernels) {
  const Tensor x = normal({300, 40});
  EXPECT_EQ(steps_of(x, [](const Tensor& t) { return cast(t, bfloat16); }), 1u);
  EXPECT_EQ(steps_of(transpose(x), [](const Tensor& t) { return cast(t, int32); }), 1u);
}

}  // namespace
}  // namespace tenure
