#include <gtest/gtest.h>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// Numbers and shapes at the ends of what the types hold, and calls that are easily misread.

namespace tenure {
namespace {

using test::expect_elements;
using test::expect_throws;

constexpr std::int64_t kLargest = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSmallest = std::numeric_limits<std::int64_t>::min();

TEST(Limits, MeansOfIntegersDoNotWrap) {
  EXPECT_EQ(mean(full({3}, kLargest)).item<float>(), 0x1p63F);
  EXPECT_EQ(mean(full({2, 3}, kSmallest), 0).to_vector<float>(), std::vector<float>(3, -0x1p63F));
  EXPECT_EQ(mean(full({70, 3}, kLargest), 1).to_vector<float>(), std::vector<float>(70, 0x1p63F));
  EXPECT_EQ(mean(transpose(full({70, 30}, kLargest))).item<float>(), 0x1p63F);
  EXPECT_EQ(mean(tensor({true, false, true, true})).item<float>(), 0.75F);
  EXPECT_EQ(mean(tensor({250, 251}, uint8)).item<float>(), 250.5F);
  EXPECT_TRUE(std::isnan(mean(zeros({0}, int64)).item<float>()));
}

TEST(Limits, SixteenBitsAreRoundedOnce) {
  const double above_tie = 1 + 0x1p-11 + 0x1p-40;
  const std::int64_t large = (std::int64_t{1} << 32) + (std::int64_t{1} << 24) + 1;
  EXPECT_EQ(cast(tensor({65519.999999}, float64), float16).item<float>(), 65504);
  EXPECT_EQ(cast(tensor({above_tie}, float64), float16).item<float>(), 1.0009765625F);
  EXPECT_EQ(cast(tensor({large}), bfloat16).item<double>(), 4328521728);
  EXPECT_EQ(cast(tensor({(1 << 24) + (1 << 16) + 1}, int32), bfloat16).item<double>(), 16908288);
  EXPECT_EQ(full({}, above_tie, float16).item<float>(), 1.0009765625F);
  EXPECT_EQ(full({}, large, bfloat16).item<double>(), 4328521728);
  EXPECT_EQ(tensor({65519.999999}, float16).item<float>(), 65504);
  EXPECT_EQ(index_update(zeros({1}, float16), {0}, above_tie).item<float>(), 1.0009765625F);
  EXPECT_EQ(arange(large, large + 1, 1, bfloat16).item<double>(), 4328521728);
  EXPECT_EQ(tensor({above_tie}, float64).item<Half>().bits, Half(1.0009765625F).bits);
}

TEST(Limits, UnsignedNumbersDoNotWrap) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  expect_throws<ValueError>([] { full({1}, most); }, {"full: the number 1.8446744073709552e+19"});
  expect_throws<ValueError>([] { tensor({most}); }, {"does not fit in int64"});
  expect_throws<ValueError>([] { tensor({std::uint64_t{1} << 63}); }, {"does not fit in int64"});
  EXPECT_THROW(ones({2}, int64) + most, ValueError);
  EXPECT_THROW(arange(most), ValueError);
  EXPECT_EQ(full({1}, most, float32).item<float>(), 0x1p64F);
  EXPECT_EQ((ones({1}) * most).item<float>(), 0x1p64F);
  EXPECT_TRUE(full({1}, most, boolean).item<bool>());
  EXPECT_EQ(full({1}, std::uint64_t{7}).item<std::int64_t>(), 7);
  EXPECT_EQ(full({1}, static_cast<std::uint64_t>(kLargest)).item<std::int64_t>(), kLargest);
}

TEST(Limits, ShiftsByTheWidthAndMoreLeaveTheSign) {
  for (const DType dtype : {uint8, int8, int16, int32, int64}) {
    SCOPED_TRACE(name_of(dtype));
    const std::int64_t width = 8 * static_cast<std::int64_t>(size_of(dtype));
    const Tensor most = bitwise_not(zeros({40}, dtype));  // all bits
    for (const std::int64_t count : {width, width + 1, std::int64_t{100}}) {
      const Tensor by = full({40}, count, dtype);
      const Tensor sign = full({40}, dtype == uint8 ? 0 : -1, dtype);
      EXPECT_TRUE(array_equal(right_shift(most, by), sign).item<bool>()) << count;
      EXPECT_TRUE(array_equal(left_shift(most, by), zeros({40}, dtype)).item<bool>()) << count;
    }
  }
}

TEST(Limits, EmptyShapesThatOverflow) {
  const Tensor nothing = zeros({0, 3});
  EXPECT_THROW(reshape(nothing, {0, kLargest, kLargest}), ShapeError);
  EXPECT_THROW(reshape(nothing, {kLargest, kLargest, 0}), ShapeError);
  EXPECT_EQ(reshape(nothing, {7, 0}).shape(), (Shape{7, 0}));
  EXPECT_EQ(flatten(zeros({0, 1 << 20, 1 << 20}), 1).shape(), (Shape{0, std::int64_t{1} << 40}));
}

TEST(Limits, ForeignBoolsAreZeroOrOne) {
  std::uint8_t bytes[4] = {0, 1, 2, 1};
  bool deleted = false;
  expect_throws<ValueError>(
      [&] { from_memory(bytes, {4}, boolean, 4, [&](void*) { deleted = true; }); },
      {"from_memory: byte 2 is 2"});
  EXPECT_FALSE(deleted) << "the memory is still the caller's";
  bytes[2] = 0;
  EXPECT_EQ(sum(from_memory(bytes, {4}, boolean, 4, {})).item<int>(), 2);
  EXPECT_EQ(from_memory(nullptr, {0}, boolean, 0, {}).size(), 0);
}

TEST(Limits, PermutationsFitTheirType) {
  const MemoryRegion region;
  EXPECT_THROW(permutation(std::int64_t{1} << 33, int32), ValueError);
  EXPECT_THROW(permutation((std::int64_t{1} << 31) + 1, int32), ValueError);
  EXPECT_EQ(region.peak_bytes(), 0);
}

TEST(Limits, SortingTakesTensorsWithoutAxes) {
  const Tensor x = tensor(2.5);
  expect_elements<float>(sort(x), {}, {2.5F});
  expect_elements<float>(sort(x, 0, true), {}, {2.5F});
  expect_elements<std::int64_t>(argsort(x), {}, {0});
  const TopK top = topk(x, 1);
  expect_elements<float>(top.values, {}, {2.5F});
  expect_elements<std::int64_t>(top.indices, {}, {0});
  EXPECT_THROW(sort(x, 1), IndexError);
  EXPECT_THROW(topk(x, 2), ValueError);
  EXPECT_THROW(topk(x, 0), ValueError);
}

TEST(Limits, SplittingNothingGivesOnePiece) {
  const std::vector<Tensor> pieces = split(zeros({0, 3}), 1);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_EQ(pieces[0].shape(), (Shape{0, 3}));
  EXPECT_EQ(split(zeros({4, 0}), 2).size(), 2u);
}

TEST(Axes, OneAxisIsANumber) {
  const Tensor x = reshape(arange(6.0), {2, 3});
  expect_elements<float>(sum(x, 0), {3}, {3, 5, 7});
  expect_elements<float>(sum(x, -1, true), {2, 1}, {3, 12});
  expect_elements<float>(max(x, std::int64_t{1}), {2}, {2, 5});
  expect_elements<float>(norm(x, 1, 0), {3}, {3, 5, 7});
  expect_elements<float>(flip(x, 1), {2, 3}, {2, 1, 0, 5, 4, 3});
  EXPECT_EQ(squeeze(ones({1, 3, 1}), 0).shape(), (Shape{3, 1}));
  const Axes axes{0, 1};
  EXPECT_EQ(sum(x, axes).item<float>(), 15);
  EXPECT_EQ(sum(x, std::vector<std::int64_t>{0}).shape(), Shape{3});
  EXPECT_EQ(sum(x, {}).item<float>(), 15);
  expect_elements<float>(var(x, {0}, false, 0), {3}, {2.25F, 2.25F, 2.25F});
}

template <class T>
concept SumTakes = requires(const Tensor& x, T axes) {
  sum(x, axes);
};
template <class... Arguments>
concept VarTakes = requires(const Tensor& x, Arguments... arguments) {
  var(x, arguments...);
};
template <class T>
concept NormTakesList = requires(const Tensor& x, T axis) {
  norm(x, {axis});
};

TEST(Axes, WhatWouldBeMisreadDoesNotCompile) {
  static_assert(SumTakes<int> && SumTakes<Axes> && !SumTakes<bool> && !SumTakes<double>);
  static_assert(VarTakes<int, bool> && VarTakes<Axes, bool, int>);
  static_assert(!VarTakes<Axes, int> && !VarTakes<int, int, int>);
  static_assert(!NormTakesList<std::int64_t> && !NormTakesList<int>);
}

}  // namespace
}  // namespace tenure
