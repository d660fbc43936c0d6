// Roots, exponentials, logarithms, rounding.
#if defined(TENURE_OPS_ELEMENTWISE_EXPONENTIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_EXPONENTIAL_INL_H_
#undef TENURE_OPS_ELEMENTWISE_EXPONENTIAL_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_EXPONENTIAL_INL_H_
#endif

#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct Floor : Map<1, kNumberTypes> {
  static constexpr auto name = "floor";
  static constexpr auto doc = "the largest integer not above x";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return floor(x);
  }
  static long double reference(long double x) { return std::floor(x); }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Ceil : Map<1, kNumberTypes> {
  static constexpr auto name = "ceil";
  static constexpr auto doc = "the smallest integer not below x";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return ceil(x);
  }
  static long double reference(long double x) { return std::ceil(x); }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Round : Map<1, kNumberTypes> {
  static constexpr auto name = "round";
  static constexpr auto doc = "the nearest integer, halves to even";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return round(x);
  }
  static long double reference(long double x) { return std::nearbyint(x); }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Trunc : Map<1, kNumberTypes> {
  static constexpr auto name = "trunc";
  static constexpr auto doc = "x without its fraction";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return trunc(x);
  }
  static long double reference(long double x) { return std::trunc(x); }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Sqrt : Float<1> {
  static constexpr auto name = "sqrt";
  static constexpr auto doc = "square root";
  static constexpr double low = 0;
  static constexpr double cost = 2;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return sqrt(x);
  }
  static long double reference(long double x) { return std::sqrt(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_output())), 0.5);
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Rsqrt : Float<1> {
  static constexpr auto name = "rsqrt";
  static constexpr auto doc = "1 / sqrt(x)";
  static constexpr double low = 0.1;
  static constexpr double ulp = 1.5;
  static constexpr double cost = 4;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return V(1) / sqrt(x);
  }
  static long double reference(long double x) { return 1 / std::sqrt(x); }
  static void backward(Backward& b) {
    Tensor cube = tenure::mul(b.at(tenure::square(b.output())), b.output());
    b.results[0] = tenure::mul(b.at(tenure::mul(b.take_gradient(), b.at(std::move(cube)))), -0.5);
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Cbrt : Float<1> {
  static constexpr auto name = "cbrt";
  static constexpr auto doc = "cube root";
  static constexpr double ulp = 4;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return cbrt(x);
  }
  static long double reference(long double x) { return std::cbrt(x); }
  static void backward(Backward& b) {
    Tensor slope = tenure::mul(b.at(tenure::square(b.take_output())), 3.0);
    b.results[0] = tenure::div(b.take_gradient(), b.at(std::move(slope)));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Exp : Float<1> {
  static constexpr auto name = "exp";
  static constexpr auto doc = "e to the power x";
  static constexpr double ulp = 1.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return exp(x);
  }
  static long double reference(long double x) { return std::exp(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::mul(b.take_gradient(), b.take_output());
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Exp2 : Float<1> {
  static constexpr auto name = "exp2";
  static constexpr auto doc = "2 to the power x";
  static constexpr double ulp = 1.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return exp2(x);
  }
  static long double reference(long double x) { return std::exp2(x); }
  static void backward(Backward& b) {
    b.results[0] =
        tenure::mul(b.at(tenure::mul(b.take_gradient(), b.take_output())), 0.69314718055994530942);
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Expm1 : Float<1> {
  static constexpr auto name = "expm1";
  static constexpr auto doc = "exp(x) - 1, accurate near 0";
  static constexpr double ulp = 4.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return expm1(x);
  }
  static long double reference(long double x) { return std::expm1(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::mul(b.take_gradient(), b.at(tenure::add(b.take_output(), 1.0)));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Log : Float<1> {
  static constexpr auto name = "log";
  static constexpr auto doc = "natural logarithm";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 1;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return log(x);
  }
  static long double reference(long double x) { return std::log(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::div(b.take_gradient(), b.take_input(0));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Log2 : Float<1> {
  static constexpr auto name = "log2";
  static constexpr auto doc = "logarithm to base 2";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 2.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return log2(x);
  }
  static long double reference(long double x) { return std::log2(x); }
  static void backward(Backward& b) {
    b.results[0] =
        tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_input(0))), 1.4426950408889634074);
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Log10 : Float<1> {
  static constexpr auto name = "log10";
  static constexpr auto doc = "logarithm to base 10";
  static constexpr double low = 0.05;
  static constexpr double high = 20;
  static constexpr double ulp = 2.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return log10(x);
  }
  static long double reference(long double x) { return std::log10(x); }
  static void backward(Backward& b) {
    b.results[0] =
        tenure::mul(b.at(tenure::div(b.take_gradient(), b.take_input(0))), 0.43429448190325182765);
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Log1p : Float<1> {
  static constexpr auto name = "log1p";
  static constexpr auto doc = "log(1 + x), accurate near 0";
  static constexpr double low = -0.9;
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return log1p(x);
  }
  static long double reference(long double x) { return std::log1p(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::div(b.take_gradient(), b.at(tenure::add(b.take_input(0), 1.0)));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_EXPONENTIALS(UNARY, BINARY, TERNARY, BY_HAND) \
  UNARY(floor, Floor)                                        \
  UNARY(ceil, Ceil)                                          \
  UNARY(round, Round)                                        \
  UNARY(trunc, Trunc)                                        \
  UNARY(sqrt, Sqrt)                                          \
  UNARY(rsqrt, Rsqrt)                                        \
  UNARY(cbrt, Cbrt)                                          \
  UNARY(exp, Exp)                                            \
  UNARY(exp2, Exp2)                                          \
  UNARY(expm1, Expm1)                                        \
  UNARY(log, Log)                                            \
  UNARY(log2, Log2)                                          \
  UNARY(log10, Log10)                                        \
  UNARY(log1p, Log1p)

using Exponentials =
    ListOf<void TENURE_EXPONENTIALS(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
