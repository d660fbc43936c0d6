#pragma once

#include <cmath>
#include <limits>
#include <type_traits>

#include "tenure/kernels/view.h"

namespace tenure::ops {

/// Throws ValueError if an integer operand has a zero: `op` would divide by it.
void reject_zero(const char* op, const kernels::View& divisor);
/// Throws ValueError if an integer operand has a negative element.
void reject_negative(const char* op, const kernels::View& exponent);

/// Rounds toward minus infinity; the divisor is not zero. The one quotient that overflows wraps.
template <class T>
T floor_divide_integers(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return static_cast<T>(-static_cast<std::make_unsigned_t<T>>(a));
  }
  const T quotient = static_cast<T>(a / b);
  return static_cast<T>(a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient);
}

template <class T>
T remainder_integers(T a, T b) {
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return 0;
  }
  const T rest = static_cast<T>(a % b);
  return static_cast<T>(rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest);
}

template <class T>
T remainder_floats(T a, T b) {
  const T rest = std::fmod(a, b);
  if (rest != 0) return (rest < 0) != (b < 0) ? rest + b : rest;
  return std::copysign(T(0), b);
}

template <class T>
T floor_divide_floats(T a, T b) {
  if (b == 0 || !std::isfinite(a)) return a / b;
  // a - remainder is a multiple of b up to rounding, so the quotient is next to an integer.
  const T rest = std::fmod(a, b);
  const T quotient = (a - rest) / b - (rest != 0 && (rest < 0) != (b < 0) ? T(1) : T(0));
  return std::round(quotient);
}

}  // namespace tenure::ops
