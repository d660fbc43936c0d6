// Derivatives that gradient rules need as one op.
#if defined(TENURE_OPS_ELEMENTWISE_DERIVATIVES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_DERIVATIVES_INL_H_
#undef TENURE_OPS_ELEMENTWISE_DERIVATIVES_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_DERIVATIVES_INL_H_
#endif

#include <cmath>

#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/gates-inl.h"
#include "tenure/ops/elementwise/gradients.h"
#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

/// The second input is the value of the function, or what it is of.
struct Derivative : Float<2> {
  static constexpr double cost = 2;
};

struct ReluGradient : Derivative {
  static constexpr auto name = "relu_gradient";
  static constexpr auto arguments = "gradient, y";
  static constexpr auto doc = "the gradient where y > 0, else 0; y is relu(x)";
  template <class V>
  static TENURE_BODY V apply(V g, V y) {
    return select(y > V(0), g, V(0));
  }
  static long double reference(long double g, long double y) { return y > 0 ? g : 0; }
  static void backward(Backward& b) {
    // Its slope by y is zero wherever it has one.
    if (b.wants(0)) gradients::give(b, 0, tenure::relu_gradient(b.take_gradient(), b.input(1)));
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1)}}, .run = backward};
};

struct TanhGradient : Derivative {
  static constexpr auto name = "tanh_gradient";
  static constexpr auto arguments = "gradient, y";
  static constexpr auto doc = "gradient * (1 - y^2); y is tanh(x)";
  static constexpr double ulp = 3;
  static constexpr double low = -1, high = 1;
  static constexpr double last_limit = 1;
  template <class V>
  static TENURE_BODY V apply(V g, V y) {
    return g * ((V(1) - y) * (V(1) + y));
  }
  static long double reference(long double g, long double y) { return g * ((1 - y) * (1 + y)); }
  static void backward(Backward& b) {
    if (b.wants(1)) {
      Tensor slope = tenure::mul(b.at(tenure::mul(b.gradient(), b.input(0))), b.input(1));
      gradients::give(b, 1, tenure::mul(b.at(std::move(slope)), -2.0));
    }
    if (b.wants(0)) gradients::give(b, 0, tenure::tanh_gradient(b.take_gradient(), b.input(1)));
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = backward};
};

struct SigmoidGradient : Derivative {
  static constexpr auto name = "sigmoid_gradient";
  static constexpr auto arguments = "gradient, y";
  static constexpr auto doc = "gradient * y * (1 - y); y is sigmoid(x)";
  static constexpr double ulp = 3;
  static constexpr double low = -1, high = 1;
  static constexpr double last_limit = 1;
  template <class V>
  static TENURE_BODY V apply(V g, V y) {
    return g * (y * (V(1) - y));
  }
  static long double reference(long double g, long double y) { return g * (y * (1 - y)); }
  static void backward(Backward& b) {
    if (b.wants(1)) {
      Tensor slope = tenure::sub(Operand(1.0, b.site), b.at(tenure::mul(b.input(1), 2.0)));
      slope = tenure::mul(b.at(std::move(slope)), b.input(0));
      gradients::give(b, 1, tenure::mul(b.at(std::move(slope)), b.gradient()));
    }
    if (b.wants(0)) gradients::give(b, 0, tenure::sigmoid_gradient(b.take_gradient(), b.input(1)));
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = backward};
};

/// By the input of a function x * g(x) where g goes from 0 to 1.
struct GateDerivative : Float<2> {
  static constexpr double ulp_of_largest = 4;
  /// A slope that is too small for a number of any type is a zero.
  static long double product(long double g, long double x, long double slope) {
    const bool vanishes = x < 0 && (std::isinf(x) || std::abs(slope) < 1e-400L);
    return g * (vanishes ? -0.0L : std::isinf(x) ? 1 : slope);
  }
  /// Of x * sigmoid(v), where v has the slope `rise`.
  static long double sigmoid_product(long double g, long double x, long double v,
                                     long double rise) {
    const long double e = std::exp(-std::abs(v));
    const long double s = (v < 0 ? e : 1) / (1 + e);
    return product(g, x, e == 0 ? (v < 0 ? 0 : 1) : s + x * rise * e / ((1 + e) * (1 + e)));
  }
};

struct SiluGradient : GateDerivative {
  static constexpr auto name = "silu_gradient";
  static constexpr auto arguments = "gradient, x";
  static constexpr auto doc = "gradient * (s + x s (1 - s)), s = sigmoid(x): by the x of silu(x)";
  static constexpr double cost = 10;
  template <class V>
  static TENURE_BODY V apply(V g, V x) {
    return g * silu_slope(x);
  }
  static long double reference(long double g, long double x) { return sigmoid_product(g, x, x, 1); }
  static void backward(Backward& b) {
    // s' (2 + x (1 - 2s)) with s = sigmoid(x)
    gradients::differentiate_slope(b, tenure::silu_gradient, 800, [&](const Tensor& x) {
      const Tensor s = tenure::sigmoid(Operand(x, b.site));
      Tensor sum = tenure::mul(b.at(gradients::sigmoid_bend(b, s)), Operand(x, b.site));
      sum = tenure::add(b.at(std::move(sum)), 2.0);
      return tenure::mul(b.at(std::move(sum)), b.at(gradients::sigmoid_slope(b, s)));
    });
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = backward};
};

struct GeluGradient : GateDerivative {
  static constexpr auto name = "gelu_gradient";
  static constexpr auto arguments = "gradient, x";
  static constexpr auto doc = "gradient * (Phi(x) + x phi(x)): by the x of gelu(x)";
  static constexpr double cost = 18;
  template <class V>
  static TENURE_BODY V apply(V g, V x) {
    return g * gelu_slope(x);
  }
  static long double reference(long double g, long double x) {
    const long double bell = 0.39894228040143267793994605993438187L * std::exp(-x * x / 2);
    const long double phi = std::erfc(-x * 0.70710678118654752440084436210484904L) / 2;
    return product(g, x, bell == 0 ? phi : phi + x * bell);
  }
  static void backward(Backward& b) {
    // phi(x) (2 - x^2)
    constexpr double kBell = 0.39894228040143267794;  // 1 / sqrt(2 pi)
    gradients::differentiate_slope(b, tenure::gelu_gradient, 40, [&](const Tensor& x) {
      const Tensor square = tenure::square(Operand(x, b.site));
      Tensor bell = tenure::exp(b.at(tenure::mul(Operand(square, b.site), -0.5)));
      Tensor rest = tenure::sub(Operand(2.0, b.site), Operand(square, b.site));
      return tenure::mul(b.at(tenure::mul(b.at(std::move(bell)), kBell)), b.at(std::move(rest)));
    });
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = backward};
};

struct GeluTanhGradient : GateDerivative {
  static constexpr auto name = "gelu_tanh_gradient";
  static constexpr auto arguments = "gradient, x";
  static constexpr auto doc = "gradient times the derivative of gelu_tanh at x";
  static constexpr double cost = 12;
  template <class V>
  static TENURE_BODY V apply(V g, V x) {
    return g * gelu_tanh_slope(x);
  }
  static long double reference(long double g, long double x) {
    constexpr long double kLinear = 1.59576912160573071175978423973752L;
    return sigmoid_product(g, x, kLinear * (x + 0.044715L * x * x * x),
                           kLinear * (1 + 3 * 0.044715L * x * x));
  }
  static void backward(Backward& b) {
    // s' (2v' + x ((1 - 2s) v'^2 + v'')) with s = sigmoid(v) and v = kLinear x + kCubic x^3
    constexpr double kLinear = 1.59576912160573071176;
    constexpr double kCubic = kLinear * 0.044715;
    gradients::differentiate_slope(b, tenure::gelu_tanh_gradient, 22, [&](const Tensor& x) {
      const Tensor square = tenure::square(Operand(x, b.site));
      Tensor v = tenure::add(b.at(tenure::mul(Operand(square, b.site), kCubic)), kLinear);
      const Tensor s = tenure::sigmoid(b.at(tenure::mul(b.at(std::move(v)), Operand(x, b.site))));
      const Tensor rise =
          tenure::add(b.at(tenure::mul(Operand(square, b.site), 3 * kCubic)), kLinear);
      const Tensor slope = gradients::sigmoid_slope(b, s);
      Tensor bend = tenure::mul(b.at(gradients::sigmoid_bend(b, s)),
                                b.at(tenure::square(Operand(rise, b.site))));
      bend = tenure::add(b.at(std::move(bend)), b.at(tenure::mul(Operand(x, b.site), 6 * kCubic)));
      // x s' first: it is small where the rest is large.
      Tensor far = tenure::mul(Operand(x, b.site), Operand(slope, b.site));
      far = tenure::mul(b.at(std::move(far)), b.at(std::move(bend)));
      Tensor near = tenure::mul(Operand(rise, b.site), Operand(slope, b.site));
      return tenure::add(b.at(tenure::mul(b.at(std::move(near)), 2.0)), b.at(std::move(far)));
    });
  }
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0, 1)}},
                                         .run = backward};
};

// The list: each line makes a record, its kernels, and the function that the header declares.
#define TENURE_DERIVATIVES(UNARY, BINARY, TERNARY, BY_HAND) \
  BINARY(relu_gradient, ReluGradient)                       \
  BINARY(tanh_gradient, TanhGradient)                       \
  BINARY(sigmoid_gradient, SigmoidGradient)                 \
  BINARY(silu_gradient, SiluGradient)                       \
  BINARY(gelu_gradient, GeluGradient)                       \
  BINARY(gelu_tanh_gradient, GeluTanhGradient)

using Derivatives =
    ListOf<void TENURE_DERIVATIVES(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
