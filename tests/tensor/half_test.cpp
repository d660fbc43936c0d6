#include "tenure/tensor/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace tenure {
namespace {

/// The value of a 16-bit pattern by the definition of its format.
double value_by_definition(std::uint16_t bits, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = bits >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = bits & ((1 << fraction_bits) - 1);
  const double sign = bits >> 15 != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                         : sign * std::numeric_limits<double>::infinity();
  }
  const double unit = std::ldexp(1.0, -fraction_bits);
  return exponent == 0 ? sign * std::ldexp(fraction * unit, 1 - bias)
                       : sign * std::ldexp(1 + fraction * unit, exponent - bias);
}

/// The nearest finite pattern or infinity, ties to the even one, found by looking around.
template <class T>
std::uint16_t round_by_definition(float value, int exponent_bits) {
  const int fraction_bits = 15 - exponent_bits;
  const auto infinity = static_cast<std::uint16_t>(((1 << exponent_bits) - 1) << fraction_bits);
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const double magnitude = std::abs(static_cast<double>(value));
  std::uint16_t low = 0;  // the largest pattern that is not above
  std::uint16_t high = infinity;
  while (high - low > 1) {
    const auto middle = static_cast<std::uint16_t>((low + high) / 2);
    (value_by_definition(middle, exponent_bits) <= magnitude ? low : high) = middle;
  }
  if (std::isinf(magnitude)) return sign | infinity;
  const double below = value_by_definition(low, exponent_bits);
  // Past the last finite value the next one would be as far away as the one before.
  const double above =
      high == infinity
          ? 2 * below - value_by_definition(static_cast<std::uint16_t>(low - 1), exponent_bits)
          : value_by_definition(high, exponent_bits);
  const double to_low = magnitude - below;
  const double to_high = above - magnitude;
  const bool down = to_low < to_high || (to_low == to_high && low % 2 == 0);
  return sign | (down ? low : high);
}

template <class T>
class SixteenBits : public testing::Test {
 public:
  static constexpr int kExponentBits = std::is_same_v<T, Half> ? 5 : 8;
};
using Types = testing::Types<Half, BFloat16>;
TYPED_TEST_SUITE(SixteenBits, Types);

TYPED_TEST(SixteenBits, AllPatternsMeanWhatTheyShouldAndComeBack) {
  for (int i = 0; i <= 0xffff; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float value = TypeParam::from_bits(bits);
    const double expected = value_by_definition(bits, TestFixture::kExponentBits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(value)) << std::hex << i;
      ASSERT_TRUE(std::isnan(static_cast<float>(TypeParam(value))));
      ASSERT_EQ(TypeParam(value).bits >> 15, bits >> 15) << "NaN keeps its sign";
      continue;
    }
    ASSERT_EQ(static_cast<double>(value), expected) << std::hex << i;
    ASSERT_EQ(std::signbit(value), std::signbit(expected));
    ASSERT_EQ(TypeParam(value).bits, bits) << std::hex << i;
  }
}

TYPED_TEST(SixteenBits, RoundsToNearestEven) {
  const auto check = [](std::uint32_t pattern) {
    const auto value = std::bit_cast<float>(pattern);
    if (std::isnan(value)) return;
    ASSERT_EQ(TypeParam(value).bits,
              round_by_definition<TypeParam>(value, TestFixture::kExponentBits))
        << std::hexfloat << value;
  };
  // Around every value, and around the middle between it and the next: one step of float each way.
  for (int i = 0; i < 0x7fff; ++i) {
    const float a = TypeParam::from_bits(static_cast<std::uint16_t>(i));
    const float b = TypeParam::from_bits(static_cast<std::uint16_t>(i + 1));
    if (std::isnan(a) || std::isnan(b)) continue;
    const auto middle = static_cast<float>((static_cast<double>(a) + b) / 2);
    for (const float centre : {a, std::isinf(middle) ? a : middle}) {
      const auto pattern = std::bit_cast<std::uint32_t>(centre);
      for (const int step : {-1, 0, 1}) {
        if (pattern == 0 && step < 0) continue;
        check(pattern + static_cast<std::uint32_t>(step));
        check((pattern + static_cast<std::uint32_t>(step)) | 0x80000000u);
      }
    }
  }
  for (std::uint64_t pattern = 0; pattern < 1ull << 32; pattern += 99'991) {
    check(static_cast<std::uint32_t>(pattern));
  }
}

TEST(Half, Landmarks) {
  EXPECT_EQ(Half(1.0F).bits, 0x3c00);
  EXPECT_EQ(Half(-2.0F).bits, 0xc000);
  EXPECT_EQ(Half(65504.0F).bits, 0x7bff);
  EXPECT_EQ(Half(65519.996F).bits, 0x7bff);
  EXPECT_EQ(Half(65520.0F).bits, 0x7c00) << "the middle to 65536 goes to infinity";
  EXPECT_EQ(Half(0x1p-24F).bits, 0x0001);
  EXPECT_EQ(Half(0x1p-25F).bits, 0x0000) << "a tie to even zero";
  EXPECT_EQ(Half(-0x1p-26F).bits, 0x8000);
  EXPECT_EQ(Half(std::nextafter(0x1p-25F, 1.0F)).bits, 0x0001);
  EXPECT_EQ(Half(-0.0F).bits, 0x8000);
}

TEST(BFloat16, Landmarks) {
  EXPECT_EQ(BFloat16(1.0F).bits, 0x3f80);
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::max()).bits, 0x7f80) << "rounds up to infinity";
  EXPECT_EQ(BFloat16(std::numeric_limits<float>::denorm_min()).bits, 0x0000);
  EXPECT_EQ(BFloat16(1.00390625F).bits, 0x3f80) << "a tie to even";
  EXPECT_EQ(BFloat16(1.01171875F).bits, 0x3f82);
  const auto signalling = std::bit_cast<float>(0x7f800001u);
  EXPECT_TRUE(std::isnan(static_cast<float>(BFloat16(signalling)))) << "not infinity";
}

/// The nearest of the neighbours of a first guess, ties to the even one, in exact arithmetic.
template <class T>
T nearest(long double value) {
  T best(static_cast<float>(value));
  for (const int step : {-1, 1}) {
    const auto other = T::from_bits(static_cast<std::uint16_t>(best.bits + step));
    const long double old_error = std::abs(static_cast<long double>(best) - value);
    const long double new_error = std::abs(static_cast<long double>(other) - value);
    if (new_error < old_error || (new_error == old_error && other.bits % 2 == 0)) best = other;
  }
  return best;
}

template <class T>
void expect_one_rounding(std::int64_t value) {
  EXPECT_EQ(round_to<T>(value).bits, nearest<T>(static_cast<long double>(value)).bits) << value;
}

TEST(Rounding, HappensOnce) {
  EXPECT_EQ(static_cast<float>(round_to<Half>(65519.999999)), 65504);
  EXPECT_TRUE(std::isinf(static_cast<float>(round_to<Half>(65520.0))));
  EXPECT_TRUE(std::isinf(static_cast<float>(round_to<BFloat16>(1e300))));
  EXPECT_TRUE(std::isnan(static_cast<float>(round_to<Half>(std::nan("")))));
  EXPECT_EQ(round_to<Half>(-1e-300).bits, 0x8000);
  for (const double tie : {1 + 0x1p-11, 1 + 3 * 0x1p-11, 0x1p-24 * 1.5, 0x1p-25}) {
    for (const double near : {-0x1p-70, 0.0, 0x1p-70}) {
      const double value = tie * (1 + 0x1p20 * near);
      EXPECT_EQ(round_to<Half>(value).bits, nearest<Half>(value).bits) << value;
      EXPECT_EQ(round_to<Half>(-value).bits, nearest<Half>(-value).bits) << value;
    }
  }
  for (const double tie : {1 + 0x1p-8, 1 + 3 * 0x1p-8, 0x1p-133 * 2.5}) {
    for (const double near : {-0x1p-50, 0.0, 0x1p-50}) {
      const double value = tie * (1 + near);
      EXPECT_EQ(round_to<BFloat16>(value).bits, nearest<BFloat16>(value).bits) << value;
    }
  }
  for (int bit = 9; bit < 62; ++bit) {
    for (const std::int64_t offset : {-1, 0, 1}) {
      const std::int64_t tie = (std::int64_t{1} << bit) + (std::int64_t{1} << (bit - 8));
      expect_one_rounding<BFloat16>(tie + offset);
      expect_one_rounding<BFloat16>(-(tie + offset));
    }
  }
  EXPECT_EQ(static_cast<float>(round_to<BFloat16>(std::numeric_limits<std::int64_t>::min())),
            -0x1p63F);
}

}  // namespace
}  // namespace tenure
