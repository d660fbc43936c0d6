// Comparisons: the result is bool.
#if defined(TENURE_OPS_ELEMENTWISE_COMPARISON_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_COMPARISON_INL_H_
#undef TENURE_OPS_ELEMENTWISE_COMPARISON_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_COMPARISON_INL_H_
#endif

#include <cmath>
#include <limits>

#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct Equal : Test<2> {
  static constexpr auto name = "equal";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a == b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a == b;
  }
  static long double reference(long double a, long double b) { return a == b; }
};

struct NotEqual : Test<2> {
  static constexpr auto name = "not_equal";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a != b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a != b;
  }
  static long double reference(long double a, long double b) { return a != b; }
};

struct Less : Test<2> {
  static constexpr auto name = "less";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a < b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a < b;
  }
  static long double reference(long double a, long double b) { return a < b; }
};

struct LessEqual : Test<2> {
  static constexpr auto name = "less_equal";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a <= b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a <= b;
  }
  static long double reference(long double a, long double b) { return a <= b; }
};

struct Greater : Test<2> {
  static constexpr auto name = "greater";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a > b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a > b;
  }
  static long double reference(long double a, long double b) { return a > b; }
};

struct GreaterEqual : Test<2> {
  static constexpr auto name = "greater_equal";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a >= b";
  template <class V>
  static TENURE_BODY auto apply(V a, V b) {
    return a >= b;
  }
  static long double reference(long double a, long double b) { return a >= b; }
};

struct IsNan : Test<1> {
  static constexpr auto name = "isnan";
  static constexpr auto doc = "true where x is not a number";
  template <class V>
  static TENURE_BODY auto apply(V x) {
    return x != x;
  }
  static long double reference(long double x) { return std::isnan(x); }
};

struct IsInf : Test<1> {
  static constexpr auto name = "isinf";
  static constexpr auto doc = "true where x is infinite";
  template <class V>
  static TENURE_BODY auto apply(V x) {
    if constexpr (V::is_float) {
      return abs(x) == V(std::numeric_limits<typename V::Scalar>::infinity());
    } else {
      return x != x;
    }
  }
  static long double reference(long double x) { return std::isinf(x); }
};

struct IsFinite : Test<1> {
  static constexpr auto name = "isfinite";
  static constexpr auto doc = "true where x is neither infinite nor NaN";
  template <class V>
  static TENURE_BODY auto apply(V x) {
    if constexpr (V::is_float) {
      return x - x == V(0);
    } else {
      return x == x;
    }
  }
  static long double reference(long double x) { return std::isfinite(x); }
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_COMPARISONS(UNARY, BINARY, TERNARY, BY_HAND) \
  BINARY(equal, Equal)                                      \
  BINARY(not_equal, NotEqual)                               \
  BINARY(less, Less)                                        \
  BINARY(less_equal, LessEqual)                             \
  BINARY(greater, Greater)                                  \
  BINARY(greater_equal, GreaterEqual)                       \
  UNARY(isnan, IsNan)                                       \
  UNARY(isinf, IsInf)                                       \
  UNARY(isfinite, IsFinite)

using Comparisons =
    ListOf<void TENURE_COMPARISONS(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
