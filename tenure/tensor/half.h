#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace tenure {

/// How a float is stored: a sign, an exponent and a fraction, from the highest bit down.
struct FloatFormat {
  int exponent_bits = 0;
  int fraction_bits = 0;

  /// All bits of the exponent: infinity's, and what every number that is not finite has.
  constexpr std::uint64_t infinity() const {
    return ((std::uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  /// Exponents of the largest and of the smallest normal number.
  constexpr int highest() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int lowest() const { return 1 - highest(); }
};

/// IEEE 754 binary16, as stored. Arithmetic happens in float.
struct Half {
  static constexpr FloatFormat kFormat{.exponent_bits = 5, .fraction_bits = 10};
  std::uint16_t bits = 0;

  Half() = default;
  explicit Half(float value) : bits(encode(value)) {}
  static constexpr Half from_bits(std::uint16_t bits) {
    Half h;
    h.bits = bits;
    return h;
  }
  operator float() const { return decode(bits); }

  static std::uint16_t encode(float value) {
#ifdef __CUDA_ARCH__  // an instruction, which keeps nothing of a NaN
    std::uint16_t rounded;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
#else
    const auto f = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>((f >> 16) & 0x8000u);
    const std::uint32_t magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return sign | 0x7e00u;   // NaN stays quiet
    if (magnitude >= 0x477ff000u) return sign | 0x7c00u;  // rounds past 65504
    if (magnitude < 0x38800000u) {                        // subnormal: let float addition round
      const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
      return static_cast<std::uint16_t>(
          sign | (std::bit_cast<std::uint32_t>(shifted) - std::bit_cast<std::uint32_t>(0.5F)));
    }
    const std::uint32_t round_to_even = ((magnitude >> 13) & 1u) + 0xfffu;
    return static_cast<std::uint16_t>(sign | ((magnitude + round_to_even - 0x38000000u) >> 13));
#endif
  }
  static float decode(std::uint16_t bits) {
#ifdef __CUDA_ARCH__
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
#else
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
    const std::uint32_t exponent = (bits >> 10) & 0x1fu;
    const std::uint32_t fraction = bits & 0x3ffu;
    if (exponent == 0x1fu) return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13));
    if (exponent == 0) {
      const float value = static_cast<float>(fraction) * 0x1p-24F;
      return sign ? -value : value;
    }
    return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
#endif
  }
};

/// The upper half of a float: eight exponent bits, seven fraction bits.
struct BFloat16 {
  static constexpr FloatFormat kFormat{.exponent_bits = 8, .fraction_bits = 7};
  std::uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) : bits(encode(value)) {}
  static constexpr BFloat16 from_bits(std::uint16_t bits) {
    BFloat16 b;
    b.bits = bits;
    return b;
  }
  operator float() const { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

  static std::uint16_t encode(float value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    std::uint16_t rounded;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(rounded) : "f"(value));
    return rounded;
#else
    const auto f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (f + 0x7fffu + ((f >> 16) & 1u)) >> 16;
    const bool nan = (f & 0x7fffffffu) > 0x7f800000u;
    return static_cast<std::uint16_t>(nan ? (f >> 16) | 0x40u : rounded);
#endif
  }
};

/// A float that is stored in fewer bits than anything computes in.
template <class T>
concept NarrowFloat = requires {
  T::kFormat;
};

/// Of 0 bits for what is no float.
template <class T>
constexpr FloatFormat float_format() {
  if constexpr (NarrowFloat<T>) {
    return T::kFormat;
  } else if constexpr (std::floating_point<T>) {
    constexpr int kFraction = std::numeric_limits<T>::digits - 1;
    return {.exponent_bits = static_cast<int>(8 * sizeof(T)) - 1 - kFraction,
            .fraction_bits = kFraction};
  } else {
    return {};
  }
}

// Note: one rounding, not two
//
// A double rounded to float and then to 16 bits may land a unit off: the first rounding makes ties
// that there were not. Rounded to odd instead (cut towards zero, the last bit set if anything was
// cut off), the float still tells on which side of a tie the number lies, and the second rounding
// is the only one that shows.

/// `value` as a float, rounded to odd.
inline float round_to_odd(double value) {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = nearest;
  const std::uint32_t outward = std::abs(back) > std::abs(value) ? 1 : 0;
  const bool exact = back == value || value != value;
  return std::bit_cast<float>(exact ? bits : (bits - outward) | 1u);
}
inline float round_to_odd(std::int64_t value) {
  const std::uint64_t magnitude =
      value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  // To odd in 53 bits, which a double holds.
  const std::uint64_t odd = (magnitude >> 11) | ((magnitude & 0x7ff) != 0 ? 1u : 0u);
  const double wide =
      magnitude >> 53 == 0 ? static_cast<double>(magnitude) : static_cast<double>(odd) * 0x1p11;
  return round_to_odd(value < 0 ? -wide : wide);
}

/// A number in 16 bits, rounded once.
template <NarrowFloat To, class From>
To round_to(From value) {
  if constexpr (std::same_as<From, double> || std::same_as<From, std::int32_t>) {
    return To(round_to_odd(static_cast<double>(value)));
  } else if constexpr (sizeof(From) == 8) {
    return To(round_to_odd(static_cast<std::int64_t>(value)));
  } else {
    return To(static_cast<float>(value));
  }
}

}  // namespace tenure
