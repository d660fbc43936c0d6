#include "tenure/ops/derivatives.h"

#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/derivatives.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/gates-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

/// The second input is the value of the function, or what it is of.
struct Derivative : Float<2> {
  static constexpr double cost = 2;
};

struct ReluGradient : Derivative {
  static constexpr auto name = "relu_gradient";
  static constexpr auto doc = "the gradient where y > 0, else 0; y is relu(x)";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}}},
                                         .run = gradients::relu_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V y) {
    return select(y > V(0), g, V(0));
  }
  static long double reference(long double g, long double y) { return y > 0 ? g : 0; }
};

struct TanhGradient : Derivative {
  static constexpr auto name = "tanh_gradient";
  static constexpr auto doc = "gradient * (1 - y^2); y is tanh(x)";
  static constexpr double ulp = 3;
  static constexpr double low = -1, high = 1;
  static constexpr double last_limit = 1;
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 3}}},
                                         .run = gradients::tanh_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V y) {
    return g * ((V(1) - y) * (V(1) + y));
  }
  static long double reference(long double g, long double y) { return g * ((1 - y) * (1 + y)); }
};

struct SigmoidGradient : Derivative {
  static constexpr auto name = "sigmoid_gradient";
  static constexpr auto doc = "gradient * y * (1 - y); y is sigmoid(x)";
  static constexpr double ulp = 3;
  static constexpr double low = -1, high = 1;
  static constexpr double last_limit = 1;
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 3}}},
                                         .run = gradients::sigmoid_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V y) {
    return g * (y * (V(1) - y));
  }
  static long double reference(long double g, long double y) { return g * (y * (1 - y)); }
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
  static constexpr auto doc = "gradient * (s + x s (1 - s)), s = sigmoid(x): by the x of silu(x)";
  static constexpr double cost = 10;
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 3}}},
                                         .run = gradients::silu_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V x) {
    return g * silu_slope(x);
  }
  static long double reference(long double g, long double x) { return sigmoid_product(g, x, x, 1); }
};

struct GeluGradient : GateDerivative {
  static constexpr auto name = "gelu_gradient";
  static constexpr auto doc = "gradient * (Phi(x) + x phi(x)): by the x of gelu(x)";
  static constexpr double cost = 18;
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 3}}},
                                         .run = gradients::gelu_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V x) {
    return g * gelu_slope(x);
  }
  static long double reference(long double g, long double x) {
    const long double bell = 0.39894228040143267793994605993438187L * std::exp(-x * x / 2);
    const long double phi = std::erfc(-x * 0.70710678118654752440084436210484904L) / 2;
    return product(g, x, bell == 0 ? phi : phi + x * bell);
  }
};

struct GeluTanhGradient : GateDerivative {
  static constexpr auto name = "gelu_tanh_gradient";
  static constexpr auto doc = "gradient times the derivative of gelu_tanh at x";
  static constexpr double cost = 12;
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 3}}},
                                         .run = gradients::gelu_tanh_gradient};
  template <class V>
  static HWY_INLINE V apply(V g, V x) {
    return g * gelu_tanh_slope(x);
  }
  static long double reference(long double g, long double x) {
    constexpr long double kLinear = 1.59576912160573071175978423973752L;
    return sigmoid_product(g, x, kLinear * (x + 0.044715L * x * x * x),
                           kLinear * (1 + 3 * 0.044715L * x * x));
  }
};

using Derivatives =
    List<ReluGradient, TanhGradient, SigmoidGradient, SiluGradient, GeluGradient, GeluTanhGradient>;

const Bodies* derivative_bodies() { return bodies_of_all(Derivatives()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(derivative_bodies);

const Family& derivative_family() {
  static const auto& family = *new Family("derivatives", HWY_NAMESPACE::Derivatives(),
                                          HWY_DYNAMIC_DISPATCH(derivative_bodies)());
  return family;
}

namespace {

template <class Op>
Tensor run(const Operand& gradient, const Operand& at) {
  return call(derivative_family()[index_of<Op>(HWY_NAMESPACE::Derivatives())], gradient, at);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor relu_gradient(const Operand& gradient, const Operand& y) {
  return run<target::ReluGradient>(gradient, y);
}
Tensor tanh_gradient(const Operand& gradient, const Operand& y) {
  return run<target::TanhGradient>(gradient, y);
}
Tensor sigmoid_gradient(const Operand& gradient, const Operand& y) {
  return run<target::SigmoidGradient>(gradient, y);
}
Tensor silu_gradient(const Operand& gradient, const Operand& x) {
  return run<target::SiluGradient>(gradient, x);
}
Tensor gelu_gradient(const Operand& gradient, const Operand& x) {
  return run<target::GeluGradient>(gradient, x);
}
Tensor gelu_tanh_gradient(const Operand& gradient, const Operand& x) {
  return run<target::GeluTanhGradient>(gradient, x);
}

}  // namespace tenure
#endif
