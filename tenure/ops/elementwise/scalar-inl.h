// Single numbers as elementwise bodies see them; see value_kinds.h.
#if defined(TENURE_OPS_ELEMENTWISE_SCALAR_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_SCALAR_INL_H_
#undef TENURE_OPS_ELEMENTWISE_SCALAR_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_SCALAR_INL_H_
#endif

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "tenure/ops/elementwise/value_kinds.h"
#include "tenure/ops/elementwise/words.h"

TENURE_BODIES_BEGIN

/// float or double.
template <class T>
struct Number {
  using Scalar = T;
  static constexpr bool is_float = true;

  TENURE_BODY Number(T value) : value(value) {}
  TENURE_BODY Number(int value) : value(static_cast<T>(value)) {}

  T value;

  friend TENURE_BODY Number operator+(Number a, Number b) { return a.value + b.value; }
  friend TENURE_BODY Number operator-(Number a, Number b) { return a.value - b.value; }
  friend TENURE_BODY Number operator*(Number a, Number b) { return a.value * b.value; }
  friend TENURE_BODY Number operator/(Number a, Number b) { return a.value / b.value; }
  friend TENURE_BODY Number operator-(Number a) { return -a.value; }
  friend TENURE_BODY bool operator==(Number a, Number b) { return a.value == b.value; }
  friend TENURE_BODY bool operator!=(Number a, Number b) { return a.value != b.value; }
  friend TENURE_BODY bool operator<(Number a, Number b) { return a.value < b.value; }
  friend TENURE_BODY bool operator<=(Number a, Number b) { return a.value <= b.value; }
  friend TENURE_BODY bool operator>(Number a, Number b) { return a.value > b.value; }
  friend TENURE_BODY bool operator>=(Number a, Number b) { return a.value >= b.value; }
  friend TENURE_BODY Number select(bool m, Number a, Number b) { return m ? a : b; }
  friend TENURE_BODY bool is_nan(Number a) { return a.value != a.value; }

  friend TENURE_BODY Number max(Number a, Number b) { return words::maximum(a.value, b.value); }
  friend TENURE_BODY Number min(Number a, Number b) { return words::minimum(a.value, b.value); }
  friend TENURE_BODY Number abs(Number a) { return std::fabs(a.value); }
  friend TENURE_BODY Number capped(Number a, T limit) { return words::capped(a.value, limit); }
  friend TENURE_BODY Number fma(Number a, Number b, Number c) {
    return std::fma(a.value, b.value, c.value);
  }
  /// a * b - product, exactly; `product` is a * b rounded.
  friend TENURE_BODY Number product_error(Number a, Number b, Number product) {
    return std::fma(a.value, b.value, -product.value);
  }
  friend TENURE_BODY Number floor_divide(Number a, Number b) {
    return words::floor_divide(a.value, b.value);
  }
  friend TENURE_BODY Number floor_remainder(Number a, Number b) {
    return words::floor_remainder(a.value, b.value);
  }
  friend TENURE_BODY Number truncated_remainder(Number a, Number b) {
    return words::truncated_remainder(a.value, b.value);
  }
  friend TENURE_BODY Number log_gamma(Number a) { return words::log_gamma(a.value); }
  friend TENURE_BODY Number inverse_erf(Number a) { return words::inverse_erf(a.value); }
  friend TENURE_BODY Number digamma(Number a) { return words::digamma(a.value); }
  friend TENURE_BODY Number hypot(Number a, Number b) { return std::hypot(a.value, b.value); }
  friend TENURE_BODY Number pow(Number a, Number b) { return std::pow(a.value, b.value); }
  friend TENURE_BODY Number atan2(Number a, Number b) { return std::atan2(a.value, b.value); }
  friend TENURE_BODY Number sigmoid(Number a) { return words::sigmoid(a.value); }
  friend TENURE_BODY Number normal_tail(Number a) { return words::normal_tail(a.value); }
  friend TENURE_BODY Number wide_gelu(Number a) { return words::wide_gelu(a.value); }
  friend TENURE_BODY Number round(Number a) { return std::nearbyint(a.value); }
#define TENURE_NUMBER_FUNCTION(name) \
  friend TENURE_BODY Number name(Number a) { return std::name(a.value); }
  TENURE_NUMBER_FUNCTION(floor)
  TENURE_NUMBER_FUNCTION(ceil)
  TENURE_NUMBER_FUNCTION(trunc)
  TENURE_NUMBER_FUNCTION(sqrt)
  TENURE_NUMBER_FUNCTION(cbrt)
  TENURE_NUMBER_FUNCTION(exp)
  TENURE_NUMBER_FUNCTION(exp2)
  TENURE_NUMBER_FUNCTION(expm1)
  TENURE_NUMBER_FUNCTION(log)
  TENURE_NUMBER_FUNCTION(log2)
  TENURE_NUMBER_FUNCTION(log10)
  TENURE_NUMBER_FUNCTION(log1p)
  TENURE_NUMBER_FUNCTION(sin)
  TENURE_NUMBER_FUNCTION(cos)
  TENURE_NUMBER_FUNCTION(tan)
  TENURE_NUMBER_FUNCTION(asin)
  TENURE_NUMBER_FUNCTION(acos)
  TENURE_NUMBER_FUNCTION(atan)
  TENURE_NUMBER_FUNCTION(sinh)
  TENURE_NUMBER_FUNCTION(cosh)
  TENURE_NUMBER_FUNCTION(tanh)
  TENURE_NUMBER_FUNCTION(asinh)
  TENURE_NUMBER_FUNCTION(acosh)
  TENURE_NUMBER_FUNCTION(atanh)
  TENURE_NUMBER_FUNCTION(erf)
  TENURE_NUMBER_FUNCTION(erfc)
#undef TENURE_NUMBER_FUNCTION
};

/// An integer whose arithmetic wraps.
template <class T>
struct Int {
  using Scalar = T;
  static constexpr bool is_float = false;

  TENURE_BODY Int(T value) : value(value) {}
  template <class U>
  requires(std::is_arithmetic_v<U> && !std::is_same_v<U, T>) TENURE_BODY Int(U value)
      : value(static_cast<T>(value)) {}

  T value;

// NOLINTBEGIN(bugprone-macro-parentheses): an operator takes none.
#define TENURE_INT_OPERATOR(symbol)                                        \
  friend TENURE_BODY Int operator symbol(Int a, Int b) {                   \
    return static_cast<T>(static_cast<std::uint64_t>(a.value)              \
                              symbol static_cast<std::uint64_t>(b.value)); \
  }
  TENURE_INT_OPERATOR(+)
  TENURE_INT_OPERATOR(-)
  TENURE_INT_OPERATOR(*)
  TENURE_INT_OPERATOR(&)
  TENURE_INT_OPERATOR(|)
  TENURE_INT_OPERATOR(^)
#undef TENURE_INT_OPERATOR
  // NOLINTEND(bugprone-macro-parentheses)
  friend TENURE_BODY Int operator~(Int a) { return static_cast<T>(~a.value); }
  friend TENURE_BODY Int operator-(Int a) {
    return static_cast<T>(-static_cast<std::uint64_t>(a.value));
  }
  friend TENURE_BODY bool operator==(Int a, Int b) { return a.value == b.value; }
  friend TENURE_BODY bool operator!=(Int a, Int b) { return a.value != b.value; }
  friend TENURE_BODY bool operator<(Int a, Int b) { return a.value < b.value; }
  friend TENURE_BODY bool operator<=(Int a, Int b) { return a.value <= b.value; }
  friend TENURE_BODY bool operator>(Int a, Int b) { return a.value > b.value; }
  friend TENURE_BODY bool operator>=(Int a, Int b) { return a.value >= b.value; }
  friend TENURE_BODY Int select(bool m, Int a, Int b) { return m ? a : b; }

  friend TENURE_BODY Int max(Int a, Int b) { return a.value > b.value ? a : b; }
  friend TENURE_BODY Int min(Int a, Int b) { return a.value < b.value ? a : b; }
  friend TENURE_BODY Int abs(Int a) { return a.value < 0 ? -a : a; }
  friend TENURE_BODY Int floor(Int a) { return a; }
  friend TENURE_BODY Int ceil(Int a) { return a; }
  friend TENURE_BODY Int round(Int a) { return a; }
  friend TENURE_BODY Int trunc(Int a) { return a; }
  friend TENURE_BODY Int floor_divide(Int a, Int b) {
    return words::floor_divide(a.value, b.value);
  }
  friend TENURE_BODY Int floor_remainder(Int a, Int b) {
    return words::floor_remainder(a.value, b.value);
  }
  friend TENURE_BODY Int truncated_remainder(Int a, Int b) {
    return words::truncated_remainder(a.value, b.value);
  }
  friend TENURE_BODY Int pow(Int a, Int b) { return words::integer_power(a.value, b.value); }
  friend TENURE_BODY Int shift_left(Int a, Int b) { return words::shift_left(a.value, b.value); }
  friend TENURE_BODY Int shift_right(Int a, Int b) { return words::shift_right(a.value, b.value); }
};

/// A bool whose sum is "or" and whose product is "and".
struct Truth {
  using Scalar = bool;
  static constexpr bool is_float = false;

  TENURE_BODY Truth(bool value) : value(value) {}

  bool value;

  friend TENURE_BODY Truth operator+(Truth a, Truth b) { return a.value | b.value; }
  friend TENURE_BODY Truth operator*(Truth a, Truth b) { return a.value & b.value; }
  friend TENURE_BODY Truth operator&(Truth a, Truth b) { return a.value & b.value; }
  friend TENURE_BODY Truth operator|(Truth a, Truth b) { return a.value | b.value; }
  friend TENURE_BODY Truth operator^(Truth a, Truth b) { return a.value != b.value; }
  friend TENURE_BODY Truth operator~(Truth a) { return !a.value; }
  friend TENURE_BODY bool operator==(Truth a, Truth b) { return a.value == b.value; }
  friend TENURE_BODY bool operator!=(Truth a, Truth b) { return a.value != b.value; }
  friend TENURE_BODY bool operator<(Truth a, Truth b) { return a.value < b.value; }
  friend TENURE_BODY bool operator<=(Truth a, Truth b) { return a.value <= b.value; }
  friend TENURE_BODY bool operator>(Truth a, Truth b) { return a.value > b.value; }
  friend TENURE_BODY bool operator>=(Truth a, Truth b) { return a.value >= b.value; }
  friend TENURE_BODY Truth select(bool m, Truth a, Truth b) { return m ? a : b; }
  friend TENURE_BODY Truth max(Truth a, Truth b) { return a.value | b.value; }
  friend TENURE_BODY Truth min(Truth a, Truth b) { return a.value & b.value; }
  friend TENURE_BODY Truth abs(Truth a) { return a; }
};

/// A number of type T.
template <class T>
struct ScalarKind {
  using type = std::conditional_t<std::is_floating_point_v<T>, Number<T>, Int<T>>;
};
template <>
struct ScalarKind<bool> {
  using type = Truth;
};
template <class T>
using ScalarOf = typename ScalarKind<T>::type;

/// As it lies in memory.
template <class T>
TENURE_BODY T stored(Number<T> value) {
  return value.value;
}
template <class T>
TENURE_BODY T stored(Int<T> value) {
  return value.value;
}
TENURE_BODY bool stored(Truth value) { return value.value; }
TENURE_BODY bool stored(bool value) { return value; }

TENURE_BODIES_END

#endif  // include guard
