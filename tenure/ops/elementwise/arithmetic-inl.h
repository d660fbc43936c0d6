// Arithmetic.
#if defined(TENURE_OPS_ELEMENTWISE_ARITHMETIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_ARITHMETIC_INL_H_
#undef TENURE_OPS_ELEMENTWISE_ARITHMETIC_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_ARITHMETIC_INL_H_
#endif

#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"
#include "tenure/ops/elementwise/words.h"

TENURE_BODIES_BEGIN

struct Add : Map<2> {
  static constexpr auto name = "add";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a + b; on bool: or";
  static constexpr Neutral neutral{
      .value = 0, .on_left = true, .of_integers = true};  // -0 + 0 is 0
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a + b;
  }
  static long double reference(long double a, long double b) { return a + b; }
  static void backward(Backward& b) {
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
      if (b.wants(i)) gradients::give(b, i, gradients::handle_for(b, i));
    }
  }
  static constexpr GradientRule gradient = reads_nothing(backward);
};

struct Sub : Map<2, kNumberTypes> {
  static constexpr auto name = "sub";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a - b";
  static constexpr Neutral neutral{.value = 0};
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a - b;
  }
  static long double reference(long double a, long double b) { return a - b; }
  static void backward(Backward& b) {
    if (b.wants(0)) gradients::give(b, 0, gradients::handle_for(b, 0));
    if (b.wants(1)) gradients::give(b, 1, tenure::neg(b.take_gradient()));
  }
  static constexpr GradientRule gradient = reads_nothing(backward);
};

struct Mul : Map<2> {
  static constexpr auto name = "mul";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a * b; on bool: and";
  static constexpr Neutral neutral{.value = 1, .on_left = true};
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a * b;
  }
  static long double reference(long double a, long double b) { return a * b; }
  static void backward(Backward& b) {
    if (b.wants(0)) gradients::give(b, 0, tenure::mul(gradients::gradient_for(b, 0), b.input(1)));
    if (b.wants(1)) gradients::give(b, 1, tenure::mul(b.take_gradient(), b.input(0)));
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0)}},
                                         .run = backward};
};

struct Div : Float<2> {
  static constexpr auto name = "div";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "a / b as a float; integers become float32";
  static constexpr Neutral neutral{.value = 1};
  static constexpr double cost = 2;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return a / b;
  }
  static long double reference(long double a, long double b) { return a / b; }
  static void backward(Backward& b) {
    Tensor quotient = tenure::div(b.take_gradient(), b.input(1));
    if (b.wants(1)) {
      gradients::give(b, 1, tenure::neg(b.at(tenure::mul(Operand(quotient, b.site), b.output()))));
    }
    if (b.wants(0)) gradients::give(b, 0, std::move(quotient));
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(1) | output_data(0)}},
                                         .run = backward};
};

struct FloorDivide : Map<2, kNumberTypes> {
  static constexpr auto name = "floor_divide";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "the largest integer not above a / b; an integer b of 0 is an error";
  static constexpr double cost = 8;
  static constexpr auto refuses = Refusal::zero;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return floor_divide(a, b);
  }
  static long double reference(long double a, long double b) { return words::floor_divide(a, b); }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Remainder : Map<2, kNumberTypes> {
  static constexpr auto name = "remainder";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc =
      "a - floor_divide(a, b) * b, with the sign of b; an integer b of 0 is an error";
  static constexpr double cost = 8;
  static constexpr auto refuses = Refusal::zero;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return floor_remainder(a, b);
  }
  static long double reference(long double a, long double b) {
    return words::floor_remainder(a, b);
  }
  static void backward(Backward& b) {
    if (b.wants(0)) gradients::give(b, 0, gradients::handle_for(b, 0));
    if (b.wants(1)) {
      Tensor times = tenure::floor_divide(b.input(0), b.input(1));
      gradients::give(b, 1,
                      tenure::neg(b.at(tenure::mul(b.take_gradient(), b.at(std::move(times))))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{{}, input_data(0, 1)}}, .run = backward};
};

struct Fmod : Map<2, kNumberTypes> {
  static constexpr auto name = "fmod";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc =
      "what is left of a / b rounded toward 0, with the sign of a; an integer b of 0 is an error";
  static constexpr double cost = 8;
  static constexpr auto refuses = Refusal::zero;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return truncated_remainder(a, b);
  }
  static long double reference(long double a, long double b) { return std::fmod(a, b); }
  static void backward(Backward& b) {
    if (b.wants(0)) gradients::give(b, 0, gradients::handle_for(b, 0));
    if (b.wants(1)) {
      Tensor times = tenure::trunc(b.at(tenure::div(b.input(0), b.input(1))));
      gradients::give(b, 1,
                      tenure::neg(b.at(tenure::mul(b.take_gradient(), b.at(std::move(times))))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{{}, input_data(0, 1)}}, .run = backward};
};

struct Pow : Map<2, kNumberTypes> {
  static constexpr auto name = "pow";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc =
      "a to the power b; a negative integer power of an integer is an error";
  static constexpr double cost = 16;
  static constexpr double ulp = 1;
  static constexpr double ulp_unwidened = 2;
  static constexpr double low = 0.1;
  static constexpr auto refuses = Refusal::negative;
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return pow(a, b);
  }
  static long double reference(long double a, long double b) { return std::pow(a, b); }
  static void backward(Backward& b) {
    if (b.wants(0) && gradients::is_number(b, 1)) {
      const double power = b.numbers[1]->floating;
      Tensor slope = tenure::mul(b.at(tenure::pow(b.input(0), power - 1)), power);
      gradients::give(b, 0, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
      return;
    }
    if (b.wants(0)) {
      // A power of 0 has no slope, not even at 0, where the other factor is infinite.
      const Tensor is_zero = tenure::equal(b.input(1), 0);
      const Tensor power = tenure::where(Operand(is_zero, b.site), 1.0, b.input(1));
      Tensor slope = tenure::pow(b.input(0), b.at(tenure::sub(Operand(power, b.site), 1)));
      slope = tenure::mul(b.at(std::move(slope)), b.input(1));
      gradients::give(b, 0, tenure::mul(gradients::gradient_for(b, 0), b.at(std::move(slope))));
    }
    if (b.wants(1) && gradients::is_number(b, 0)) {
      const double base = b.numbers[0]->floating;
      Tensor slope = tenure::mul(b.output(), base == 0 ? 0.0 : std::log(base));
      gradients::give(b, 1, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
      return;
    }
    if (b.wants(1)) {
      const Tensor is_zero = tenure::equal(b.input(0), 0);
      Tensor base = tenure::where(Operand(is_zero, b.site), 1.0, b.input(0));
      Tensor slope = tenure::mul(b.output(), b.at(tenure::log(b.at(std::move(base)))));
      gradients::give(b, 1, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1), input_data(0) | output_data(0)}}, .run = backward};
};

struct Maximum : Map<2> {
  static constexpr auto name = "maximum";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "the larger one; NaN if either is";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return max(a, b);
  }
  static long double reference(long double a, long double b) {
    return std::isnan(a) || a > b ? a : b;
  }
  static void backward(Backward& b) { gradients::share(b, tenure::greater); }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = backward};
};

struct Minimum : Map<2> {
  static constexpr auto name = "minimum";
  static constexpr auto arguments = "a, b";
  static constexpr auto doc = "the smaller one; NaN if either is";
  template <class V>
  static TENURE_BODY V apply(V a, V b) {
    return min(a, b);
  }
  static long double reference(long double a, long double b) {
    return std::isnan(a) || a < b ? a : b;
  }
  static void backward(Backward& b) { gradients::share(b, tenure::less); }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = backward};
};

struct Neg : Map<1, kNumberTypes> {
  static constexpr auto name = "neg";
  static constexpr auto doc = "-x";
  static constexpr bool undoes_itself = true;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return -x;
  }
  static long double reference(long double x) { return -x; }
  static void backward(Backward& b) { b.results[0] = tenure::neg(b.take_gradient()); }
  static constexpr GradientRule gradient = reads_nothing(backward);
};

struct Abs : Map<1> {
  static constexpr auto name = "abs";
  static constexpr auto doc = "|x|";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return abs(x);
  }
  static long double reference(long double x) { return std::abs(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::mul(b.take_gradient(), b.at(tenure::sign(b.take_input(0))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Sign : Map<1, kNumberTypes> {
  static constexpr auto name = "sign";
  static constexpr auto doc = "-1, 0 or 1; NaN stays";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return select(x > V(0), V(1), select(x < V(0), V(-1), x));
  }
  static long double reference(long double x) { return x > 0 ? 1 : x < 0 ? -1 : x; }
  static constexpr GradientRule gradient = kZeroGradient;
};

struct Square : Map<1, kNumberTypes> {
  static constexpr auto name = "square";
  static constexpr auto doc = "x * x";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return x * x;
  }
  static long double reference(long double x) { return x * x; }
  static void backward(Backward& b) {
    b.results[0] = tenure::mul(b.at(tenure::mul(b.take_gradient(), b.take_input(0))), 2.0);
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Reciprocal : Float<1> {
  static constexpr auto name = "reciprocal";
  static constexpr auto doc = "1 / x";
  static constexpr double cost = 2;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return V(1) / x;
  }
  static long double reference(long double x) { return 1 / x; }
  static void backward(Backward& b) {
    b.results[0] =
        tenure::neg(b.at(tenure::mul(b.take_gradient(), b.at(tenure::square(b.take_output())))));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_ARITHMETIC(UNARY, BINARY, TERNARY, BY_HAND) \
  BINARY(add, Add)                                         \
  BINARY(sub, Sub)                                         \
  BINARY(mul, Mul)                                         \
  BINARY(div, Div)                                         \
  BINARY(floor_divide, FloorDivide)                        \
  BINARY(remainder, Remainder)                             \
  BINARY(fmod, Fmod)                                       \
  BY_HAND(pow, Pow)                                        \
  BINARY(maximum, Maximum)                                 \
  BINARY(minimum, Minimum)                                 \
  UNARY(neg, Neg)                                          \
  UNARY(abs, Abs)                                          \
  UNARY(sign, Sign)                                        \
  UNARY(square, Square)                                    \
  UNARY(reciprocal, Reciprocal)

using Arithmetic =
    ListOf<void TENURE_ARITHMETIC(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
