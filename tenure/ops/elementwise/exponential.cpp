#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/exponential.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

/// `f` of floats; integers are whole already.
template <class V, class F>
HWY_INLINE V whole(V x, const F& f) {
  if constexpr (V::is_float) {
    return f(x);
  } else {
    return x;
  }
}

struct Floor : Map<1, kNumberTypes> {
  static constexpr auto name = "floor";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "the largest integer not above x";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return whole<V>(x, [](auto v) HWY_ATTR { return floor(v); });
  }
  static long double reference(long double x) { return std::floor(x); }
};

struct Ceil : Map<1, kNumberTypes> {
  static constexpr auto name = "ceil";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "the smallest integer not below x";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return whole<V>(x, [](auto v) HWY_ATTR { return ceil(v); });
  }
  static long double reference(long double x) { return std::ceil(x); }
};

struct Round : Map<1, kNumberTypes> {
  static constexpr auto name = "round";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "the nearest integer, halves to even";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return whole<V>(x, [](auto v) HWY_ATTR { return round(v); });
  }
  static long double reference(long double x) { return std::nearbyint(x); }
};

struct Trunc : Map<1, kNumberTypes> {
  static constexpr auto name = "trunc";
  static constexpr GradientRule gradient = kZeroGradient;
  static constexpr auto doc = "x without its fraction";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return whole<V>(x, [](auto v) HWY_ATTR { return trunc(v); });
  }
  static long double reference(long double x) { return std::trunc(x); }
};

struct Sqrt : Float<1> {
  static constexpr auto name = "sqrt";
  static constexpr GradientRule gradient = reads_output(gradients::sqrt);
  static constexpr auto doc = "square root";
  static constexpr double low = 0;
  static constexpr double cost = 2;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return sqrt(x);
  }
  static long double reference(long double x) { return std::sqrt(x); }
};

struct Rsqrt : Float<1> {
  static constexpr auto name = "rsqrt";
  static constexpr GradientRule gradient = reads_output(gradients::rsqrt);
  static constexpr auto doc = "1 / sqrt(x)";
  static constexpr double low = 0.1;
  static constexpr double ulp = 1.5;
  static constexpr double cost = 4;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return V(1) / sqrt(x);
  }
  static long double reference(long double x) { return 1 / std::sqrt(x); }
};

struct Cbrt : Float<1> {
  static constexpr auto name = "cbrt";
  static constexpr GradientRule gradient = reads_output(gradients::cbrt);
  static constexpr auto doc = "cube root";
  static constexpr double ulp = 4;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return map_lanes([](auto v) { return std::cbrt(v); }, x);
  }
  static long double reference(long double x) { return std::cbrt(x); }
};

struct Exp : Float<1> {
  static constexpr auto name = "exp";
  static constexpr GradientRule gradient = reads_output(gradients::exp);
  static constexpr auto doc = "e to the power x";
  static constexpr double ulp = 1.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return exp(x);
  }
  static long double reference(long double x) { return std::exp(x); }
};

struct Exp2 : Float<1> {
  static constexpr auto name = "exp2";
  static constexpr GradientRule gradient = reads_output(gradients::exp2);
  static constexpr auto doc = "2 to the power x";
  static constexpr double ulp = 1.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return exp2(x);
  }
  static long double reference(long double x) { return std::exp2(x); }
};

struct Expm1 : Float<1> {
  static constexpr auto name = "expm1";
  static constexpr GradientRule gradient = reads_output(gradients::expm1);
  static constexpr auto doc = "exp(x) - 1, accurate near 0";
  static constexpr double ulp = 4.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return expm1(x);
  }
  static long double reference(long double x) { return std::expm1(x); }
};

struct Log : Float<1> {
  static constexpr auto name = "log";
  static constexpr GradientRule gradient = reads_input(gradients::log);
  static constexpr auto doc = "natural logarithm";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 1;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return log(x);
  }
  static long double reference(long double x) { return std::log(x); }
};

struct Log2 : Float<1> {
  static constexpr auto name = "log2";
  static constexpr GradientRule gradient = reads_input(gradients::log2);
  static constexpr auto doc = "logarithm to base 2";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 2.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return log2(x);
  }
  static long double reference(long double x) { return std::log2(x); }
};

struct Log10 : Float<1> {
  static constexpr auto name = "log10";
  static constexpr GradientRule gradient = reads_input(gradients::log10);
  static constexpr auto doc = "logarithm to base 10";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 2.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return log10(x);
  }
  static long double reference(long double x) { return std::log10(x); }
};

struct Log1p : Float<1> {
  static constexpr auto name = "log1p";
  static constexpr GradientRule gradient = reads_input(gradients::log1p);
  static constexpr auto doc = "log(1 + x), accurate near 0";
  static constexpr double low = -0.9;
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return log1p(x);
  }
  static long double reference(long double x) { return std::log1p(x); }
};

using Exponentials =
    List<Floor, Ceil, Round, Trunc, Sqrt, Rsqrt, Cbrt, Exp, Exp2, Expm1, Log, Log2, Log10, Log1p>;

const Bodies* exponential_bodies() { return bodies_of_all(Exponentials()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(exponential_bodies);

const Family& exponential_family() {
  static const auto& family =
      *new Family("roots, exponentials, logarithms, rounding", HWY_NAMESPACE::Exponentials(),
                  HWY_DYNAMIC_DISPATCH(exponential_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(exponential_family()[index_of<Op>(HWY_NAMESPACE::Exponentials())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor floor(const Operand& x) { return run<target::Floor>(x); }
Tensor ceil(const Operand& x) { return run<target::Ceil>(x); }
Tensor round(const Operand& x) { return run<target::Round>(x); }
Tensor trunc(const Operand& x) { return run<target::Trunc>(x); }
Tensor sqrt(const Operand& x) { return run<target::Sqrt>(x); }
Tensor rsqrt(const Operand& x) { return run<target::Rsqrt>(x); }
Tensor cbrt(const Operand& x) { return run<target::Cbrt>(x); }
Tensor exp(const Operand& x) { return run<target::Exp>(x); }
Tensor exp2(const Operand& x) { return run<target::Exp2>(x); }
Tensor expm1(const Operand& x) { return run<target::Expm1>(x); }
Tensor log(const Operand& x) { return run<target::Log>(x); }
Tensor log2(const Operand& x) { return run<target::Log2>(x); }
Tensor log10(const Operand& x) { return run<target::Log10>(x); }
Tensor log1p(const Operand& x) { return run<target::Log1p>(x); }

}  // namespace tenure
#endif
