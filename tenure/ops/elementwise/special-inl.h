// Special functions, and such with a care for overflow.
#if defined(TENURE_OPS_ELEMENTWISE_SPECIAL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_SPECIAL_INL_H_
#undef TENURE_OPS_ELEMENTWISE_SPECIAL_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_SPECIAL_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct Erfc : Float<1> {
  static constexpr auto name = "erfc";
  static constexpr auto doc = "1 - erf(x), also where that is small";
  static constexpr double ulp = 6;
  static constexpr double cost = 20;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return erfc(x);
  }
  static long double reference(long double x) { return std::erfc(x); }
  static void backward(Backward& b) {
    Tensor bell = tenure::exp(b.at(tenure::neg(b.at(tenure::square(b.take_input(0))))));
    gradients::multiply(
        b, tenure::mul(b.at(std::move(bell)), -1.1283791670955125739));  // 2 / sqrt(pi)
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct ErfInv : Float<1> {
  static constexpr auto name = "erfinv";
  static constexpr auto doc = "the inverse of erf; NaN outside [-1, 1]";
  static constexpr double ulp = 1;
  static constexpr double ulp_unwidened = 3;
  static constexpr double cost = 300;
  static constexpr double low = -0.95, high = 0.95;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return inverse_erf(x);
  }
  /// By Newton's method from below, where it never oversteps.
  static long double reference(long double y) {
    const long double size = std::abs(y);
    if (!(size < 1)) return size == 1 ? y / 0.0L : std::nanl("");
    long double x = size * 0.88622692545275801364908374167057259L;  // sqrt(pi) / 2
    for (int step = 0; step < 200; ++step) {
      const long double off = size < 0.5L ? size - std::erf(x) : std::erfc(x) - (1 - size);
      const long double next = x + off * 0.88622692545275801364908374167057259L * std::exp(x * x);
      if (next <= x) break;
      x = next;
    }
    return std::copysign(x, y);
  }
  static void backward(Backward& b) {
    Tensor slope = tenure::exp(b.at(tenure::square(b.take_output())));
    gradients::multiply(b, tenure::mul(b.at(std::move(slope)), 0.88622692545275801365));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct LogGamma : Float<1> {
  static constexpr auto name = "lgamma";
  static constexpr auto doc = "the logarithm of |gamma(x)|; infinite where gamma has a pole";
  static constexpr double ulp = 1;
  static constexpr double ulp_unwidened = 2;
  static constexpr double cost = 60;
  static constexpr double low = 0.1, high = 8;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return log_gamma(x);
  }
  static long double reference(long double x) { return std::lgamma(x); }
  static void backward(Backward& b) { gradients::multiply(b, tenure::digamma(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Digamma : Float<1> {
  static constexpr auto name = "digamma";
  static constexpr auto doc = "the derivative of lgamma";
  static constexpr double ulp_of_largest = 1;
  static constexpr double ulp_unwidened = 6;
  static constexpr double cost = 200;
  static constexpr double low = 0.1, high = 8;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return digamma(x);
  }
  /// Binet's formula far out, where the recurrence leads to.
  static long double reference(long double x) {
    constexpr long double kPi = 3.14159265358979323846264338327950288L;
    if (x == 0) return -std::copysign(std::numeric_limits<long double>::infinity(), x);
    if (std::isinf(x)) return x > 0 ? x : std::nanl("");
    if (x < 0) {
      const long double part = x - std::nearbyint(x);
      if (part == 0) return std::nanl("");
      return reference(1 - x) - kPi / std::tan(kPi * part);
    }
    long double sum = 0;
    for (; x < 60; x += 1) sum -= 1 / x;
    const long double s = 1 / (x * x);
    const long double series =
        s * (1.0L / 12 - s * (1.0L / 120 - s * (1.0L / 252 - s * (1.0L / 240 - s / 132))));
    return sum + std::log(x) - 1 / (2 * x) - series;
  }
  static void backward(Backward& b) { gradients::multiply(b, tenure::trigamma(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Hypot : Float<2> {
  static constexpr auto name = "hypot";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "sqrt(a^2 + b^2) without overflow";
  static constexpr double ulp = 1;
  static constexpr double ulp_unwidened = 2;
  static constexpr double cost = 10;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return hypot(a, b);
  }
  static long double reference(long double a, long double b) { return std::hypot(a, b); }
  static void backward(Backward& b) {
    // At the origin, which has no slope, 0.
    const Tensor at_origin = tenure::equal(b.output(), 0.0);
    const Tensor length = tenure::where(Operand(at_origin, b.site), 1.0, b.output());
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (!b.wants(i)) continue;
      Tensor part = tenure::div(b.input(i), Operand(length, b.site));
      gradients::give(b, i, tenure::mul(gradients::gradient_for(b, i), b.at(std::move(part))));
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0) | output_data(0), input_data(1) | output_data(0)}}, .run = backward};
};

struct LogAddExp : Float<2> {
  static constexpr auto name = "logaddexp";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "log(exp(a) + exp(b)) without overflow";
  static constexpr double ulp_of_largest = 4;
  static constexpr double cost = 20;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    // The distance of equal infinities is no number.
    const V distance = select(a == b, V(0), abs(a - b));
    return max(a, b) + log1p(exp(-distance));
  }
  static long double reference(long double a, long double b) {
    if (std::isnan(a) || std::isnan(b)) return a + b;
    const long double distance = a == b ? 0 : std::abs(a - b);
    return std::max(a, b) + std::log1p(std::exp(-distance));
  }
  static void backward(Backward& b) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (!b.wants(i)) continue;
      Tensor part = tenure::sigmoid(b.at(tenure::sub(b.input(i), b.input(1 - i))));
      gradients::give(b, i, tenure::mul(gradients::gradient_for(b, i), b.at(std::move(part))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = backward};
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_SPECIAL(UNARY, BINARY, TERNARY, BY_HAND) \
  UNARY(erfc, Erfc)                                     \
  UNARY(erfinv, ErfInv)                                 \
  UNARY(lgamma, LogGamma)                               \
  UNARY(digamma, Digamma)                               \
  BINARY(hypot, Hypot)                                  \
  BINARY(logaddexp, LogAddExp)

using SpecialFunctions =
    ListOf<void TENURE_SPECIAL(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
