// Trigonometric and hyperbolic functions, error function.
#if defined(TENURE_OPS_ELEMENTWISE_TRIGONOMETRIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_TRIGONOMETRIC_INL_H_
#undef TENURE_OPS_ELEMENTWISE_TRIGONOMETRIC_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_TRIGONOMETRIC_INL_H_
#endif

#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

struct Sin : Float<1> {
  static constexpr auto name = "sin";
  static constexpr auto doc = "sine";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return sin(x);
  }
  static long double reference(long double x) { return std::sin(x); }
  static void backward(Backward& b) { gradients::multiply(b, tenure::cos(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Cos : Float<1> {
  static constexpr auto name = "cos";
  static constexpr auto doc = "cosine";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return cos(x);
  }
  static long double reference(long double x) { return std::cos(x); }
  static void backward(Backward& b) {
    gradients::multiply(b, tenure::neg(b.at(tenure::sin(b.take_input(0)))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Tan : Float<1> {
  static constexpr auto name = "tan";
  static constexpr auto doc = "tangent";
  static constexpr double ulp = 5;
  static constexpr double low = -1.5;
  static constexpr double high = 1.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return tan(x);
  }
  static long double reference(long double x) { return std::tan(x); }
  static void backward(Backward& b) {
    gradients::multiply(b, tenure::add(b.at(tenure::square(b.take_output())), 1.0));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Asin : Float<1> {
  static constexpr auto name = "asin";
  static constexpr auto doc = "inverse sine";
  static constexpr double low = -1;
  static constexpr double high = 1;
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return asin(x);
  }
  static long double reference(long double x) { return std::asin(x); }
  static void backward(Backward& b) {
    gradients::multiply(b, tenure::rsqrt(b.at(gradients::one_and_square(b, -1))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Acos : Float<1> {
  static constexpr auto name = "acos";
  static constexpr auto doc = "inverse cosine";
  static constexpr double low = -1;
  static constexpr double high = 1;
  static constexpr double ulp = 1.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return acos(x);
  }
  static long double reference(long double x) { return std::acos(x); }
  static void backward(Backward& b) {
    gradients::multiply(b,
                        tenure::neg(b.at(tenure::rsqrt(b.at(gradients::one_and_square(b, -1))))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Atan : Float<1> {
  static constexpr auto name = "atan";
  static constexpr auto doc = "inverse tangent";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return atan(x);
  }
  static long double reference(long double x) { return std::atan(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::div(b.take_gradient(), b.at(gradients::one_and_square(b, 1)));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Atan2 : Float<2> {
  static constexpr auto name = "atan2";
  static constexpr auto arguments = "y, x";
  static constexpr auto doc = "angle of the point (x, y)";
  static constexpr double ulp = 2;
  template <class V>
  static TENURE_BODY V apply(V y, V x) {
    return atan2(y, x);
  }
  static long double reference(long double y, long double x) { return std::atan2(y, x); }
  static void backward(Backward& b) {
    // The square of a number is computed here: as a tensor of its own it would be float32.
    const std::size_t first = gradients::is_number(b, 0) ? 1 : 0;
    const std::size_t second = 1 - first;
    Tensor square = tenure::square(b.input(first));
    if (gradients::is_number(b, second)) {
      const double number = b.numbers[second]->floating;
      square = tenure::add(b.at(std::move(square)), number * number);
    } else {
      square = tenure::add(b.at(std::move(square)), b.at(tenure::square(b.input(second))));
    }
    const Tensor scaled = tenure::div(b.take_gradient(), b.at(std::move(square)));
    if (b.wants(0)) b.results[0] = to_input(b, 0, tenure::mul(Operand(scaled, b.site), b.input(1)));
    if (b.wants(1)) {
      Tensor slope = tenure::mul(Operand(scaled, b.site), b.input(0));
      b.results[1] = to_input(b, 1, tenure::neg(b.at(std::move(slope))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = backward};
};

struct Sinh : Float<1> {
  static constexpr auto name = "sinh";
  static constexpr auto doc = "hyperbolic sine";
  static constexpr double ulp = 4;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return sinh(x);
  }
  static long double reference(long double x) { return std::sinh(x); }
  static void backward(Backward& b) { gradients::multiply(b, tenure::cosh(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Cosh : Float<1> {
  static constexpr auto name = "cosh";
  static constexpr auto doc = "hyperbolic cosine";
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return cosh(x);
  }
  static long double reference(long double x) { return std::cosh(x); }
  static void backward(Backward& b) { gradients::multiply(b, tenure::sinh(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Asinh : Float<1> {
  static constexpr auto name = "asinh";
  static constexpr auto doc = "inverse hyperbolic sine";
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return asinh(x);
  }
  static long double reference(long double x) { return std::asinh(x); }
  static void backward(Backward& b) {
    // By hypot: the square may be too large for the type.
    Tensor length = tenure::hypot(b.take_input(0), Operand(1.0, b.site));
    gradients::multiply(b, tenure::reciprocal(b.at(std::move(length))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Acosh : Float<1> {
  static constexpr auto name = "acosh";
  static constexpr auto doc = "inverse hyperbolic cosine";
  static constexpr double low = 1;
  static constexpr double high = 9;
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return acosh(x);
  }
  static long double reference(long double x) { return std::acosh(x); }
  static void backward(Backward& b) {
    // 1 / (sqrt(x - 1) sqrt(x + 1)): x^2 may be too large for the type.
    Tensor below = tenure::rsqrt(b.at(tenure::sub(b.input(0), 1.0)));
    Tensor above = tenure::rsqrt(b.at(tenure::add(b.take_input(0), 1.0)));
    gradients::multiply(b, tenure::mul(b.at(std::move(below)), b.at(std::move(above))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Atanh : Float<1> {
  static constexpr auto name = "atanh";
  static constexpr auto doc = "inverse hyperbolic tangent";
  static constexpr double low = -0.95;
  static constexpr double high = 0.95;
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return atanh(x);
  }
  static long double reference(long double x) { return std::atanh(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::div(b.take_gradient(), b.at(gradients::one_and_square(b, -1)));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Erf : Float<1> {
  static constexpr auto name = "erf";
  static constexpr auto doc = "error function";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return erf(x);
  }
  static long double reference(long double x) { return std::erf(x); }
  static void backward(Backward& b) {
    Tensor bell = tenure::exp(b.at(tenure::neg(b.at(tenure::square(b.take_input(0))))));
    gradients::multiply(b,
                        tenure::mul(b.at(std::move(bell)), 1.1283791670955125739));  // 2 / sqrt(pi)
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_TRIGONOMETRIC(UNARY, BINARY, TERNARY, BY_HAND) \
  UNARY(sin, Sin)                                             \
  UNARY(cos, Cos)                                             \
  UNARY(tan, Tan)                                             \
  UNARY(asin, Asin)                                           \
  UNARY(acos, Acos)                                           \
  UNARY(atan, Atan)                                           \
  BINARY(atan2, Atan2)                                        \
  UNARY(sinh, Sinh)                                           \
  UNARY(cosh, Cosh)                                           \
  UNARY(asinh, Asinh)                                         \
  UNARY(acosh, Acosh)                                         \
  UNARY(atanh, Atanh)                                         \
  UNARY(erf, Erf)

using Trigonometric =
    ListOf<void TENURE_TRIGONOMETRIC(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
