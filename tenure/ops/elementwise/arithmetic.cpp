#include <algorithm>
#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/arithmetic.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/checks.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

/// Exact to float32: computed in float64. float64 itself by the C library.
template <class T>
HWY_INLINE simd::Vec<T> pow(simd::Vec<T> a, simd::Vec<T> b) {
  const auto exact = [](T x, T y) { return std::pow(x, y); };
  if constexpr (std::is_same_v<T, float>) {
    namespace hn = hwy::HWY_NAMESPACE;
    const hn::ScalableTag<float> df;
    const hn::ScalableTag<double> dd;
    const hn::Half<decltype(df)> dh;
    const auto half = [&](auto x, auto y) HWY_ATTR {
      const auto log = hn::Log(dd, hn::PromoteTo(dd, x));
      const auto exponent = hn::Mul(log, hn::PromoteTo(dd, y));
      const auto inside = hn::Min(hn::Max(exponent, hn::Set(dd, -200.0)), hn::Set(dd, 200.0));
      return hn::DemoteTo(dh, hn::Exp(dd, inside));
    };
    const simd::Vec<T> fast =
        hn::Combine(df, half(hn::UpperHalf(dh, a.raw), hn::UpperHalf(dh, b.raw)),
                    half(hn::LowerHalf(dh, a.raw), hn::LowerHalf(dh, b.raw)));
    const auto valid = a > 0.0F && a < simd::Vec<T>(simd::kInfinity<T>) &&
                       abs(b) < simd::Vec<T>(simd::kInfinity<T>);
    if (HWY_LIKELY(all(valid))) return fast;
    return select(valid, fast, map_lanes(exact, a, b));
  } else {
    return map_lanes(exact, a, b);
  }
}

template <class T>
HWY_INLINE simd::Int<T> integer_power(simd::Int<T> base, simd::Int<T> exponent) {
  simd::Int<T> result = 1;
  for (T e = exponent.value; e > 0; e /= 2) {
    if (e % 2 != 0) result = result * base;
    base = base * base;
  }
  return result;
}

struct Add : Map<2> {
  static constexpr auto name = "add";
  static constexpr GradientRule gradient = reads_nothing(gradients::add);
  static constexpr auto doc = "a + b; on bool: or";
  static constexpr Neutral neutral{
      .value = 0, .on_left = true, .of_integers = true};  // -0 + 0 is 0
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a + b;
  }
  static long double reference(long double a, long double b) { return a + b; }
};

struct Sub : Map<2, kNumberTypes> {
  static constexpr auto name = "sub";
  static constexpr GradientRule gradient = reads_nothing(gradients::sub);
  static constexpr auto doc = "a - b";
  static constexpr Neutral neutral{.value = 0};
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a - b;
  }
  static long double reference(long double a, long double b) { return a - b; }
};

struct Mul : Map<2> {
  static constexpr auto name = "mul";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 1}}},
                                         .run = gradients::mul};
  static constexpr auto doc = "a * b; on bool: and";
  static constexpr Neutral neutral{.value = 1, .on_left = true};
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a * b;
  }
  static long double reference(long double a, long double b) { return a * b; }
};

struct Div : Float<2> {
  static constexpr auto name = "div";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 2, .outputs = 1}}},
                                         .run = gradients::div};
  static constexpr auto doc = "a / b as a float; integers become float32";
  static constexpr Neutral neutral{.value = 1};
  static constexpr double cost = 2;
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return a / b;
  }
  static long double reference(long double a, long double b) { return a / b; }
};

struct FloorDivide : Map<2, kNumberTypes> {
  static constexpr auto name = "floor_divide";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "the largest integer not above a / b; an integer b of 0 is an error";
  static constexpr double cost = 8;
  static constexpr bool divides = true;
  static void check(const char* op, DType compute, std::span<const View> in) {
    if (is_integral(compute)) reject_zero(op, in[1]);
  }
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (V::is_float) {
      using T = typename V::Scalar;
      return map_lanes([](T x, T y) { return floor_divide_floats(x, y); }, a, b);
    } else {
      return floor_divide_integers(a.value, b.value);
    }
  }
  static long double reference(long double a, long double b) { return floor_divide_floats(a, b); }
};

struct Remainder : Map<2, kNumberTypes> {
  static constexpr auto name = "remainder";
  static constexpr GradientRule gradient{.needs = {{{}, {.inputs = 3}}},
                                         .run = gradients::remainder};
  static constexpr auto doc =
      "a - floor_divide(a, b) * b, with the sign of b; an integer b of 0 is an error";
  static constexpr double cost = 8;
  static constexpr bool divides = true;
  static void check(const char* op, DType compute, std::span<const View> in) {
    if (is_integral(compute)) reject_zero(op, in[1]);
  }
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (V::is_float) {
      using T = typename V::Scalar;
      return map_lanes([](T x, T y) { return remainder_floats(x, y); }, a, b);
    } else {
      return remainder_integers(a.value, b.value);
    }
  }
  static long double reference(long double a, long double b) { return remainder_floats(a, b); }
};

struct Pow : Map<2, kNumberTypes> {
  static constexpr auto name = "pow";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 1, .outputs = 1}}},
                                         .run = gradients::pow};
  static constexpr auto doc =
      "a to the power b; a negative integer power of an integer is an error";
  static constexpr double cost = 16;
  static constexpr double ulp = 1;
  static constexpr double low = 0.1;
  static void check(const char* op, DType compute, std::span<const View> in) {
    if (is_integral(compute)) reject_negative(op, in[1]);
  }
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    if constexpr (V::is_float) {
      return pow(a, b);
    } else {
      return integer_power(a, b);
    }
  }
  static long double reference(long double a, long double b) { return std::pow(a, b); }
};

struct Maximum : Map<2> {
  static constexpr auto name = "maximum";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 3}}},
                                         .run = gradients::maximum};
  static constexpr auto doc = "the larger one; NaN if either is";
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return max(a, b);
  }
  static long double reference(long double a, long double b) {
    return std::isnan(a) || a > b ? a : b;
  }
};

struct Minimum : Map<2> {
  static constexpr auto name = "minimum";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 3}}},
                                         .run = gradients::minimum};
  static constexpr auto doc = "the smaller one; NaN if either is";
  template <class V>
  static HWY_INLINE V apply(V a, V b) {
    return min(a, b);
  }
  static long double reference(long double a, long double b) {
    return std::isnan(a) || a < b ? a : b;
  }
};

struct Neg : Map<1, kNumberTypes> {
  static constexpr auto name = "neg";
  static constexpr GradientRule gradient = reads_nothing(gradients::neg);
  static constexpr auto doc = "-x";
  static constexpr bool undoes_itself = true;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return -x;
  }
  static long double reference(long double x) { return -x; }
};

struct Abs : Map<1> {
  static constexpr auto name = "abs";
  static constexpr GradientRule gradient = reads_input(gradients::abs);
  static constexpr auto doc = "|x|";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return abs(x);
  }
  static long double reference(long double x) { return std::abs(x); }
};

struct Sign : Map<1, kNumberTypes> {
  static constexpr auto name = "sign";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "-1, 0 or 1; NaN stays";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return select(x > V(0), V(1), select(x < V(0), V(-1), x));
  }
  static long double reference(long double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
};

struct Square : Map<1, kNumberTypes> {
  static constexpr auto name = "square";
  static constexpr GradientRule gradient = reads_input(gradients::square);
  static constexpr auto doc = "x * x";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return x * x;
  }
  static long double reference(long double x) { return x * x; }
};

struct Reciprocal : Float<1> {
  static constexpr auto name = "reciprocal";
  static constexpr GradientRule gradient = reads_output(gradients::reciprocal);
  static constexpr auto doc = "1 / x";
  static constexpr double cost = 2;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return V(1) / x;
  }
  static long double reference(long double x) { return 1 / x; }
};

using Arithmetic = List<Add, Sub, Mul, Div, FloorDivide, Remainder, Pow, Maximum, Minimum, Neg, Abs,
                        Sign, Square, Reciprocal>;

const Bodies* arithmetic_bodies() { return bodies_of_all(Arithmetic()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(arithmetic_bodies);

const Family& arithmetic_family() {
  static const auto& family = *new Family("arithmetic", HWY_NAMESPACE::Arithmetic(),
                                          HWY_DYNAMIC_DISPATCH(arithmetic_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(arithmetic_family()[index_of<Op>(HWY_NAMESPACE::Arithmetic())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor add(const Operand& a, const Operand& b) { return run<target::Add>(a, b); }
Tensor sub(const Operand& a, const Operand& b) { return run<target::Sub>(a, b); }
Tensor mul(const Operand& a, const Operand& b) { return run<target::Mul>(a, b); }
Tensor div(const Operand& a, const Operand& b) { return run<target::Div>(a, b); }
Tensor floor_divide(const Operand& a, const Operand& b) { return run<target::FloorDivide>(a, b); }
Tensor remainder(const Operand& a, const Operand& b) { return run<target::Remainder>(a, b); }
Tensor maximum(const Operand& a, const Operand& b) { return run<target::Maximum>(a, b); }
Tensor minimum(const Operand& a, const Operand& b) { return run<target::Minimum>(a, b); }
Tensor neg(const Operand& x) { return run<target::Neg>(x); }
Tensor abs(const Operand& x) { return run<target::Abs>(x); }
Tensor sign(const Operand& x) { return run<target::Sign>(x); }
Tensor square(const Operand& x) { return run<target::Square>(x); }
Tensor reciprocal(const Operand& x) { return run<target::Reciprocal>(x); }

Tensor pow(const Operand& a, const Operand& b) {
  // The powers that networks use need no logarithm.
  if (b.is_scalar() && !a.is_scalar() &&
      (is_floating(a.tensor().dtype()) || b.scalar().kind == Scalar::Kind::integer)) {
    if (b.scalar().floating == 2) return square(a);
    if (b.scalar().floating == 0.5) return sqrt(a);
  }
  return run<target::Pow>(a, b);
}

}  // namespace tenure
#endif
