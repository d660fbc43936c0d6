#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tenure/ops/elementwise/special_words.h"

// What bodies of elementwise ops use beyond the C library, on plain numbers. Printed source calls
// these by the same names: a device compiles them too, or has its own.

namespace tenure::ops::words {

/// a / b of floats.
template <class T>
inline T over(T a, T b) {
  return a / b;
}

/// NaN if either is, as NumPy and PyTorch have it.
template <class T>
inline T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T>
inline T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}

/// |x|, but no larger than `limit`. NaN becomes the limit.
template <class T>
inline T capped(T x, T limit) {
  const T size = std::fabs(x);
  return size < limit ? size : limit;
}

/// 1 / (1 + exp(-x)), also where that is subnormal.
template <class T>
inline T sigmoid(T x) {
  const T e = std::exp(-std::fabs(x));
  return (x < 0 ? e : T(1)) / (e + T(1));
}

/// Phi(-t), Phi the normal distribution's.
inline double normal_tail(double t) { return std::erfc(t * 0.70710678118654752440) / 2; }

/// x Phi(x), rounded once: in extended precision. Below -2000 it is 0.
inline double wide_gelu(double x) {
#ifdef __CUDACC__
  const double bounded = x < -2000 ? -2000 : x;
  return bounded * ::normcdf(bounded);  // a few units off: GPUs have no wider type
#else
  constexpr long double kRootHalf = 0.70710678118654752440084436210484904L;
  const long double wide = x < -2000 ? -2000 : x;
  return static_cast<double>(wide * std::erfc(-wide * kRootHalf) / 2);
#endif
}

/// a / b, rounded toward minus infinity. An integer b is not zero; the one quotient of integers
/// that overflows wraps.
template <class T>
inline T floor_divide(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (b == 0 || !std::isfinite(a)) return a / b;
    // a - remainder is a multiple of b up to rounding, so the quotient is next to an integer.
    const T rest = std::fmod(a, b);
    const T quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? T(1) : T(0));
    return std::round(quotient);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
    }
    const T quotient = static_cast<T>(a / b);
    return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
  }
}

/// a - floor_divide(a, b) * b, with the sign of b.
template <class T>
inline T floor_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    const T rest = std::fmod(a, b);
    if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
    return std::copysign(T(0), b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    const T rest = static_cast<T>(a % b);
    return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
  }
}

/// What is left of a / b rounded toward zero, with the sign of a. An integer b is not zero.
template <class T>
inline T truncated_remainder(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fmod(a, b);
  } else {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;  // the quotient may overflow
    }
    return static_cast<T>(a % b);
  }
}

/// a to the power b of integers; b is not negative. Wraps.
template <class T>
inline T integer_power(T a, T b) {
  std::uint64_t result = 1;
  std::uint64_t base = static_cast<std::uint64_t>(a);
  for (T e = b; e > 0; e /= 2) {
    if (e % 2 != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

/// 0 from the width of a on, and for negative b.
template <class T>
inline T shift_left(T a, T b) {
  constexpr int kWidth = 8 * sizeof(T);
  const bool inside = b >= 0 && b < kWidth;
  return inside ? static_cast<T>(static_cast<std::uint64_t>(a) << (b & (kWidth - 1))) : T(0);
}
/// Keeps the sign; all sign from the width of a on, and for negative b: 0 of what has none.
template <class T>
inline T shift_right(T a, T b) {
  constexpr int kWidth = 8 * sizeof(T);
  const bool inside = b >= 0 && b < kWidth;
  if (!std::is_signed_v<T> && !inside) return 0;
  return static_cast<T>(a >> (inside ? static_cast<int>(b) : kWidth - 1));
}

}  // namespace tenure::ops::words
