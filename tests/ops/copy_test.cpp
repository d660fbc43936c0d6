#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenure/memory/ledger.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/tensor/introspect.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_throws;
using test::make;

template <class T>
using Limits = std::numeric_limits<T>;

constexpr float kNan = Limits<float>::quiet_NaN();
constexpr float kInf = Limits<float>::infinity();

TEST(Clone, IsATensorOfItsOwn) {
  const Tensor x = counting({2, 3});
  const Tensor y = clone(transpose(x));
  EXPECT_TRUE(y.is_contiguous());
  x.mutable_span<float>()[0] = 100;
  expect_elements<float>(y, {3, 2}, {0, 3, 1, 4, 2, 5});
  x.dispose();
  EXPECT_FALSE(y.is_disposed());
  EXPECT_EQ(holders(y).size(), 1u);
}

TEST(Contiguous, CopiesOnlyWhatIsNot) {
  const Tensor x = counting({2, 3});
  const std::int64_t before = memory().allocations;
  const Tensor same = contiguous(x);
  EXPECT_EQ(memory().allocations, before);
  EXPECT_EQ(holders(x).size(), 2u);
  const Tensor copy = contiguous(transpose(x));
  EXPECT_EQ(memory().allocations, before + 1);
  EXPECT_TRUE(copy.is_contiguous());
  expect_elements<float>(copy, {3, 2}, {0, 3, 1, 4, 2, 5});
}

TEST(Cast, GoesFromEveryTypeToEveryType) {
  for (int from = 0; from < kDTypes; ++from) {
    const Tensor x = cast(make<std::int32_t>({2, 20}, std::vector<std::int32_t>(40, 1)),
                          static_cast<DType>(from));
    for (int to = 0; to < kDTypes; ++to) {
      const Tensor y = cast(transpose(x), static_cast<DType>(to));
      EXPECT_EQ(y.dtype(), static_cast<DType>(to));
      EXPECT_EQ(y.shape(), (Shape{20, 2}));
      EXPECT_EQ(y.to_vector<double>(), std::vector<double>(40, 1))
          << name_of(static_cast<DType>(from)) << " to " << name_of(static_cast<DType>(to));
    }
  }
}

TEST(Cast, FloatsToIntegersLoseTheFractionAndSaturate) {
  const Tensor x = make<float>({8}, {1.9f, -1.9f, 300, -300, 1e20f, kInf, -kInf, kNan});
  expect_elements<std::int8_t>(cast(x, int8), {8}, {1, -1, 127, -128, 127, 127, -128, 0});
  expect_elements<std::uint8_t>(cast(x, uint8), {8}, {1, 0, 255, 0, 255, 255, 0, 0});
  expect_elements<std::int16_t>(cast(x, int16), {8}, {1, -1, 300, -300, 32767, 32767, -32768, 0});
  constexpr auto least32 = Limits<std::int32_t>::min();
  constexpr auto most32 = Limits<std::int32_t>::max();
  expect_elements<std::int32_t>(cast(x, int32), {8},
                                {1, -1, 300, -300, most32, most32, least32, 0});
  constexpr auto least64 = Limits<std::int64_t>::min();
  constexpr auto most64 = Limits<std::int64_t>::max();
  expect_elements<std::int64_t>(cast(x, int64), {8},
                                {1, -1, 300, -300, most64, most64, least64, 0});
  expect_elements<std::int64_t>(cast(cast(x, float64), int64), {8},
                                {1, -1, 300, -300, most64, most64, least64, 0});
  expect_elements<bool>(cast(x, boolean), {8}, {true, true, true, true, true, true, true, true});
  expect_elements<bool>(cast(make<float>({3}, {0, -0.0f, 1e-40f}), boolean), {3},
                        {false, false, true});
}

TEST(Cast, IntegersWrap) {
  const Tensor x = make<std::int32_t>({4}, {256, 257, -1, 128});
  expect_elements<std::uint8_t>(cast(x, uint8), {4}, {0, 1, 255, 128});
  expect_elements<std::int8_t>(cast(x, int8), {4}, {0, 1, -1, -128});
  expect_elements<bool>(cast(x, boolean), {4}, {true, true, true, true});
  const Tensor wide = make<std::int64_t>({1}, {(std::int64_t{1} << 32) + 5});
  expect_elements<std::int32_t>(cast(wide, int32), {1}, {5});
}

TEST(Cast, RoundsToNarrowerFloats) {
  const Tensor x = make<float>({5}, {1.0f + 0x1p-11f, 70000, -kInf, kNan, 0x1p-25f});
  const std::vector<float> halves = cast(x, float16).to_vector<float>();
  EXPECT_EQ(halves[0], 1.0f);  // a tie goes to the even neighbour
  EXPECT_EQ(halves[1], kInf);
  EXPECT_EQ(halves[2], -kInf);
  EXPECT_TRUE(std::isnan(halves[3]));
  EXPECT_EQ(halves[4], 0.0f);
  const std::vector<float> brains = cast(x, bfloat16).to_vector<float>();
  EXPECT_EQ(brains[1], 70144.0f);
  EXPECT_TRUE(std::isnan(brains[3]));
  EXPECT_EQ(brains[4], 0x1p-25f);
  expect_elements<float>(cast(make<double>({2}, {1e300, 1 + 0x1p-30}), float32), {2}, {kInf, 1});
}

TEST(Cast, WorksInPlaceInAMovedInputOfTheSameSize) {
  Tensor x = make<float>({3}, {1.5f, -2.5f, kNan});
  const std::int64_t before = memory().allocations;
  Tensor y = cast(std::move(x), int32);
  EXPECT_EQ(memory().allocations, before);
  expect_elements<std::int32_t>(y, {3}, {1, -2, 0});
  y = cast(std::move(y), float64);
  EXPECT_EQ(memory().allocations, before + 1);
  expect_elements<double>(y, {3}, {1, -2, 0});
}

TEST(Concat, JoinsAlongAnAxis) {
  const Tensor a = counting({2, 2});
  const Tensor b = make<float>({1, 2}, {8, 9});
  expect_elements<float>(concat({a, b}), {3, 2}, {0, 1, 2, 3, 8, 9});
  expect_elements<float>(concat({a, transpose(a)}, -1), {2, 4}, {0, 1, 0, 2, 2, 3, 1, 3});
  expect_elements<float>(concat({a}), {2, 2}, {0, 1, 2, 3});
  expect_elements<float>(concat(std::vector<Tensor>{a, b, a}), {5, 2},
                         {0, 1, 2, 3, 8, 9, 0, 1, 2, 3});
}

TEST(Concat, MeetsInACommonType) {
  const Tensor flags = make<bool>({1, 2}, {true, false});
  const Tensor ints = make<std::int32_t>({1, 2}, {-3, 4});
  const Tensor floats = make<float>({1, 2}, {0.5f, 1.5f});
  expect_elements<std::int32_t>(concat({flags, ints}), {2, 2}, {1, 0, -3, 4});
  expect_elements<float>(concat({flags, ints, floats}), {3, 2}, {1, 0, -3, 4, 0.5f, 1.5f});
  expect_elements<float>(concat({transpose(ints), transpose(floats)}, 1), {2, 2},
                         {-3, 0.5f, 4, 1.5f});
  // Longer than one tile of the conversion.
  const Tensor many = concat({counting<std::int32_t>({2, 3000}), counting({2, 1})}, 1);
  EXPECT_EQ(many.dtype(), float32);
  const std::vector<float> values = many.to_vector<float>();
  for (int i = 0; i < 3000; ++i) {
    ASSERT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(i));
    ASSERT_EQ(values[static_cast<std::size_t>(3001 + i)], static_cast<float>(3000 + i));
  }
}

TEST(Concat, TakesEmptyPieces) {
  const Tensor a = counting({2, 2});
  const Tensor none = make<std::int32_t>({0, 2}, {});
  expect_elements<float>(concat({none, a, none}), {2, 2}, {0, 1, 2, 3});
  EXPECT_EQ(concat({none, none}).shape(), (Shape{0, 2}));
  EXPECT_EQ(concat({none, make<float>({0, 3}, {})}, 1).shape(), (Shape{0, 5}));
}

TEST(Concat, ChecksItsInputs) {
  const Tensor a = counting({2, 2});
  expect_throws<ShapeError>([&] { concat({a, counting({2, 3})}); }, {"concat", "[2, 2]", "[2, 3]"});
  EXPECT_THROW(concat({a, counting({2})}), ShapeError);
  EXPECT_THROW(concat({a, a}, 2), IndexError);
  EXPECT_THROW(concat(std::vector<Tensor>{}), ValueError);
  EXPECT_THROW(concat({counting({}), counting({})}), IndexError);
  const Tensor gone = counting({2, 2});
  gone.dispose();
  EXPECT_THROW(concat({a, gone}), DisposedError);
}

TEST(Stack, JoinsAlongANewAxis) {
  const Tensor a = counting({3});
  const Tensor b = make<std::int32_t>({3}, {7, 8, 9});
  expect_elements<float>(stack({a, b}), {2, 3}, {0, 1, 2, 7, 8, 9});
  expect_elements<float>(stack({a, b}, 1), {3, 2}, {0, 7, 1, 8, 2, 9});
  expect_elements<float>(stack({a, b}, -1), {3, 2}, {0, 7, 1, 8, 2, 9});
  expect_elements<float>(stack({counting({}), counting({})}), {2}, {0, 0});
  EXPECT_THROW(stack({a, counting({2})}), ShapeError);
  EXPECT_THROW(stack(std::vector<Tensor>{}), ValueError);
  EXPECT_THROW(stack({a, a}, 2), IndexError);
  EXPECT_THROW(stack({a, 1}), ValueError);
}

TEST(Copies, UseUpMovedInputs) {
  Tensor a = counting({3});
  Tensor b = counting({3});
  const Tensor c = concat({std::move(a), b});
  EXPECT_FALSE(a.defined());
  EXPECT_TRUE(b.defined());
  EXPECT_THROW(stack({std::move(b), c}), ShapeError);
  EXPECT_TRUE(b.defined());  // NOLINT(bugprone-use-after-move): it threw
}

}  // namespace
}  // namespace tenure
