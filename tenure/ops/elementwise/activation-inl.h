// Activations.
#if defined(TENURE_OPS_ELEMENTWISE_ACTIVATION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_ACTIVATION_INL_H_
#undef TENURE_OPS_ELEMENTWISE_ACTIVATION_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_ACTIVATION_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gates-inl.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

/// x times a factor that vanishes faster than 1/x at minus infinity.
inline long double gate(long double x, long double factor) {
  return std::isinf(x) && x < 0 ? -0.0L : x * factor;
}

struct Relu : Map<1, kNumberTypes> {
  static constexpr auto name = "relu";
  static constexpr auto doc = "max(x, 0)";
  template <class V>
  static TENURE_BODY V apply(V x) {
    return max(x, V(0));
  }
  static long double reference(long double x) { return x > 0 || std::isnan(x) ? x : 0; }
  static void backward(Backward& b) {
    b.results[0] = tenure::relu_gradient(b.take_gradient(), b.take_output());
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Relu6 : Map<1, kNumberTypes> {
  static constexpr auto name = "relu6";
  static constexpr auto doc = "min(max(x, 0), 6)";
  static constexpr double high = 9;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return min(max(x, V(0)), V(6));
  }
  static long double reference(long double x) { return x > 6 ? 6 : Relu::reference(x); }
  static void backward(Backward& b) {
    Tensor inside = tenure::less(b.output(), 6);
    const Tensor rises =
        tenure::logical_and(b.at(std::move(inside)), b.at(tenure::greater(b.output(), 0)));
    b.results[0] = tenure::where(Operand(rises, b.site), b.take_gradient(), 0.0);
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct LeakyRelu : Float<2> {
  static constexpr auto name = "leaky_relu";
  static constexpr auto arguments = "x, slope";
  static constexpr auto doc = "x where x > 0, slope * x elsewhere";
  static constexpr double cost = 1;
  template <class V>
  static TENURE_BODY V apply(V x, V slope) {
    return select(x > V(0), x, slope * x);
  }
  static long double reference(long double x, long double slope) { return x > 0 ? x : slope * x; }
  static void backward(Backward& b) {
    const Tensor above = tenure::greater(b.input(0), 0);
    const Operand is_above(above, b.site);
    if (b.wants(0)) {
      Tensor below = tenure::mul(b.gradient(), b.input(1));
      b.results[0] = to_input(b, 0, tenure::where(is_above, b.gradient(), b.at(std::move(below))));
    }
    if (b.wants(1)) {
      Tensor below = tenure::mul(b.take_gradient(), b.input(0));
      b.results[1] = to_input(b, 1, tenure::where(is_above, 0.0, b.at(std::move(below))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0)}},
                                         .run = backward};
};

struct Elu : Float<2> {
  static constexpr auto name = "elu";
  static constexpr auto arguments = "x, alpha";
  static constexpr auto doc = "x where x > 0, alpha * (exp(x) - 1) elsewhere";
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x, V alpha) {
    return select(x > V(0), x, alpha * expm1(x));
  }
  static long double reference(long double x, long double alpha) {
    return x > 0 ? x : alpha * std::expm1(x);
  }
  static void backward(Backward& b) {
    const Tensor above = tenure::greater(b.input(0), 0);
    const Operand is_above(above, b.site);
    // Above zero the exponential is not used; there it must not overflow either.
    const Tensor below = tenure::minimum(b.input(0), 0.0);
    if (b.wants(0)) {
      Tensor slope = tenure::mul(b.at(tenure::exp(Operand(below, b.site))), b.input(1));
      slope = tenure::where(is_above, 1.0, b.at(std::move(slope)));
      b.results[0] = to_input(b, 0, tenure::mul(b.gradient(), b.at(std::move(slope))));
    }
    if (b.wants(1)) {
      Tensor slope = tenure::expm1(Operand(below, b.site));
      b.results[1] = to_input(b, 1, tenure::mul(b.take_gradient(), b.at(std::move(slope))));
    }
  }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0)}},
                                         .run = backward};
};

struct Selu : Float<1> {
  static constexpr auto name = "selu";
  static constexpr auto doc = "scale * elu(x, alpha) with the constants that keep unit variance";
  static constexpr double ulp = 3;
  static constexpr double kAlpha = 1.6732632423543772848170429916717;
  static constexpr double kScale = 1.0507009873554804934193349852946;
  template <class V>
  static TENURE_BODY V apply(V x) {
    using T = typename V::Scalar;
    return T(kScale) * select(x > V(0), x, T(kAlpha) * expm1(x));
  }
  static long double reference(long double x) {
    return static_cast<long double>(kScale) *
           (x > 0 ? x : static_cast<long double>(kAlpha) * std::expm1(x));
  }
  static void backward(Backward& b) {
    constexpr double kScale = 1.0507009873554804934193349852946;
    constexpr double kFloor = kScale * 1.6732632423543772848170429916717;
    const Tensor above = tenure::greater(b.output(), 0);
    Tensor slope = tenure::add(b.take_output(), kFloor);
    gradients::multiply(b, tenure::where(Operand(above, b.site), kScale, b.at(std::move(slope))));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Sigmoid : Float<1> {
  static constexpr auto name = "sigmoid";
  static constexpr auto doc = "1 / (1 + exp(-x))";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return sigmoid(x);
  }
  static long double reference(long double x) { return 1 / (1 + std::exp(-x)); }
  static void backward(Backward& b) {
    b.results[0] = tenure::sigmoid_gradient(b.take_gradient(), b.take_output());
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Silu : Float<1> {
  static constexpr auto name = "silu";
  static constexpr auto doc = "x * sigmoid(x), also known as swish";
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return silu(x);
  }
  static long double reference(long double x) { return gate(x, 1 / (1 + std::exp(-x))); }
  static void backward(Backward& b) {
    b.results[0] = tenure::silu_gradient(b.take_gradient(), b.take_input(0));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Softplus : Float<1> {
  static constexpr auto name = "softplus";
  static constexpr auto doc = "log(1 + exp(x)), without overflow";
  static constexpr double cost = 16;
  static constexpr double ulp = 3.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return max(x, V(0)) + log1p(exp(-abs(x)));
  }
  static long double reference(long double x) {
    return std::isnan(x) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x)));
  }
  static void backward(Backward& b) { gradients::multiply(b, tenure::sigmoid(b.take_input(0))); }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Softsign : Float<1> {
  static constexpr auto name = "softsign";
  static constexpr auto doc = "x / (1 + |x|)";
  static constexpr double cost = 2;
  static constexpr double ulp = 1.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return x / (abs(x) + V(1));
  }
  static long double reference(long double x) { return x / (1 + std::abs(x)); }
  static void backward(Backward& b) {
    // 1 / (1 + |x|)^2 is (1 - |y|)^2.
    Tensor rest = tenure::sub(Operand(1.0, b.site), b.at(tenure::abs(b.take_output())));
    gradients::multiply(b, tenure::square(b.at(std::move(rest))));
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct Gelu : Float<1> {
  static constexpr auto name = "gelu";
  static constexpr auto doc = "x * Phi(x), Phi the normal distribution's; exact form, by erf";
  static constexpr double cost = 16;
  static constexpr double ulp = 8;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return gelu(x);
  }
  static long double reference(long double x) {
    return gate(x, std::erfc(-x * 0.70710678118654752440084436210484904L) / 2);
  }
  static void backward(Backward& b) {
    b.results[0] = tenure::gelu_gradient(b.take_gradient(), b.take_input(0));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct GeluTanh : Float<1> {
  static constexpr auto name = "gelu_tanh";
  static constexpr auto doc = "gelu approximated by tanh(sqrt(2/pi) (x + 0.044715 x^3))";
  static constexpr double cost = 16;
  static constexpr double ulp = 4.5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return gelu_tanh(x);
  }
  static long double reference(long double x) {
    const long double twice = 1.59576912160573071175978423973752L * (x + 0.044715L * x * x * x);
    return gate(x, 1 / (1 + std::exp(-twice)));
  }
  static void backward(Backward& b) {
    b.results[0] = tenure::gelu_tanh_gradient(b.take_gradient(), b.take_input(0));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct HardSigmoid : Float<1> {
  static constexpr auto name = "hard_sigmoid";
  static constexpr auto doc = "min(max(x / 6 + 1/2, 0), 1)";
  static constexpr double cost = 2;
  static constexpr double ulp = 1.5;
  static constexpr double low = -4;
  static constexpr double high = 4;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return min(max(x + V(3), V(0)), V(6)) / V(6);
  }
  static long double reference(long double x) {
    const long double y = (x + 3) / 6;
    return y > 1 ? 1 : y > 0 || std::isnan(y) ? y : 0;
  }
  static void backward(Backward& b) {
    Tensor inside = tenure::less(b.output(), 1);
    const Tensor rises =
        tenure::logical_and(b.at(std::move(inside)), b.at(tenure::greater(b.output(), 0)));
    Tensor slope = tenure::mul(b.take_gradient(), 1.0 / 6);
    b.results[0] = tenure::where(Operand(rises, b.site), b.at(std::move(slope)), 0.0);
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

struct HardSwish : Float<1> {
  static constexpr auto name = "hard_swish";
  static constexpr auto doc = "x * hard_sigmoid(x)";
  static constexpr double cost = 2;
  static constexpr double ulp = 2;
  static constexpr double low = -4;
  static constexpr double high = 4;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return max(x, V(-3)) * HardSigmoid::apply(x);
  }
  static long double reference(long double x) { return gate(x, HardSigmoid::reference(x)); }
  static void backward(Backward& b) {
    // (2x + 3) / 6 between -3 and 3.
    const Tensor above = tenure::greater(b.input(0), 3);
    const Tensor below = tenure::less(b.input(0), -3);
    Tensor slope = tenure::add(b.at(tenure::mul(b.take_input(0), 1.0 / 3)), 0.5);
    slope = tenure::where(Operand(above, b.site), 1.0, b.at(std::move(slope)));
    gradients::multiply(b, tenure::where(Operand(below, b.site), 0.0, b.at(std::move(slope))));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Mish : Float<1> {
  static constexpr auto name = "mish";
  static constexpr auto doc = "x * tanh(softplus(x))";
  static constexpr double cost = 12;
  static constexpr double ulp = 5;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return mish(x);
  }
  static long double reference(long double x) { return gate(x, std::tanh(Softplus::reference(x))); }
  static void backward(Backward& b) {
    // t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x))
    const Tensor t = tenure::tanh(b.at(tenure::softplus(b.input(0))));
    Tensor slope = tenure::tanh_gradient(b.at(tenure::sigmoid(b.input(0))), Operand(t, b.site));
    slope = tenure::mul(b.at(std::move(slope)), b.take_input(0));
    gradients::multiply(b, tenure::add(b.at(std::move(slope)), Operand(t, b.site)));
  }
  static constexpr GradientRule gradient = reads_input(backward);
};

struct Tanh : Float<1> {
  static constexpr auto name = "tanh";
  static constexpr auto doc = "hyperbolic tangent";
  static constexpr double ulp = 3;
  template <class V>
  static TENURE_BODY V apply(V x) {
    return tanh(x);
  }
  static long double reference(long double x) { return std::tanh(x); }
  static void backward(Backward& b) {
    b.results[0] = tenure::tanh_gradient(b.take_gradient(), b.take_output());
  }
  static constexpr GradientRule gradient = reads_output(backward);
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_ACTIVATIONS(UNARY, BINARY, TERNARY, BY_HAND) \
  UNARY(relu, Relu)                                         \
  UNARY(relu6, Relu6)                                       \
  BINARY(leaky_relu, LeakyRelu)                             \
  BINARY(elu, Elu)                                          \
  UNARY(selu, Selu)                                         \
  UNARY(sigmoid, Sigmoid)                                   \
  UNARY(silu, Silu)                                         \
  UNARY(softplus, Softplus)                                 \
  UNARY(softsign, Softsign)                                 \
  UNARY(gelu, Gelu)                                         \
  UNARY(gelu_tanh, GeluTanh)                                \
  UNARY(hard_sigmoid, HardSigmoid)                          \
  UNARY(hard_swish, HardSwish)                              \
  UNARY(mish, Mish)                                         \
  UNARY(tanh, Tanh)

using Activations =
    ListOf<void TENURE_ACTIVATIONS(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
