#include <algorithm>
#include <cmath>

#include "tenure/ops/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/activation.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/gates-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

/// x times a factor that vanishes faster than 1/x at minus infinity.
inline long double gate(long double x, long double factor) {
  return std::isinf(x) && x < 0 ? -0.0L : x * factor;
}

struct Relu : Map<1, kNumberTypes> {
  static constexpr auto name = "relu";
  static constexpr GradientRule gradient = reads_output(gradients::relu);
  static constexpr auto doc = "max(x, 0)";
  template <class V>
  static HWY_INLINE V apply(V x) {
    return max(x, V(0));
  }
  static long double reference(long double x) { return x > 0 || std::isnan(x) ? x : 0; }
};

struct Relu6 : Map<1, kNumberTypes> {
  static constexpr auto name = "relu6";
  static constexpr GradientRule gradient = reads_output(gradients::relu6);
  static constexpr auto doc = "min(max(x, 0), 6)";
  static constexpr double high = 9;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return min(max(x, V(0)), V(6));
  }
  static long double reference(long double x) { return x > 6 ? 6 : Relu::reference(x); }
};

struct LeakyRelu : Float<2> {
  static constexpr auto name = "leaky_relu";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 1}}},
                                         .run = gradients::leaky_relu};
  static constexpr auto doc = "x where x > 0, slope * x elsewhere";
  static constexpr double cost = 1;
  template <class V>
  static HWY_INLINE V apply(V x, V slope) {
    return select(x > V(0), x, slope * x);
  }
  static long double reference(long double x, long double slope) { return x > 0 ? x : slope * x; }
};

struct Elu : Float<2> {
  static constexpr auto name = "elu";
  static constexpr GradientRule gradient{.needs = {{{.inputs = 3}, {.inputs = 1}}},
                                         .run = gradients::elu};
  static constexpr auto doc = "x where x > 0, alpha * (exp(x) - 1) elsewhere";
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x, V alpha) {
    return select(x > V(0), x, alpha * expm1(x));
  }
  static long double reference(long double x, long double alpha) {
    return x > 0 ? x : alpha * std::expm1(x);
  }
};

struct Selu : Float<1> {
  static constexpr auto name = "selu";
  static constexpr GradientRule gradient = reads_output(gradients::selu);
  static constexpr auto doc = "scale * elu(x, alpha) with the constants that keep unit variance";
  static constexpr double ulp = 3;
  static constexpr double kAlpha = 1.6732632423543772848170429916717;
  static constexpr double kScale = 1.0507009873554804934193349852946;
  template <class V>
  static HWY_INLINE V apply(V x) {
    using T = typename V::Scalar;
    return T(kScale) * select(x > V(0), x, T(kAlpha) * expm1(x));
  }
  static long double reference(long double x) {
    return static_cast<long double>(kScale) *
           (x > 0 ? x : static_cast<long double>(kAlpha) * std::expm1(x));
  }
};

struct Sigmoid : Float<1> {
  static constexpr auto name = "sigmoid";
  static constexpr GradientRule gradient = reads_output(gradients::sigmoid);
  static constexpr auto doc = "1 / (1 + exp(-x))";
  static constexpr double ulp = 3;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return sigmoid(x);
  }
  static long double reference(long double x) { return 1 / (1 + std::exp(-x)); }
};

struct Silu : Float<1> {
  static constexpr auto name = "silu";
  static constexpr GradientRule gradient = reads_input(gradients::silu);
  static constexpr auto doc = "x * sigmoid(x), also known as swish";
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return silu(x);
  }
  static long double reference(long double x) { return gate(x, 1 / (1 + std::exp(-x))); }
};

struct Softplus : Float<1> {
  static constexpr auto name = "softplus";
  static constexpr GradientRule gradient = reads_input(gradients::softplus);
  static constexpr auto doc = "log(1 + exp(x)), without overflow";
  static constexpr double cost = 16;
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return max(x, V(0)) + log1p(exp(-abs(x)));
  }
  static long double reference(long double x) {
    return std::isnan(x) ? x : std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x)));
  }
};

struct Softsign : Float<1> {
  static constexpr auto name = "softsign";
  static constexpr GradientRule gradient = reads_output(gradients::softsign);
  static constexpr auto doc = "x / (1 + |x|)";
  static constexpr double cost = 2;
  static constexpr double ulp = 1.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return x / (abs(x) + V(1));
  }
  static long double reference(long double x) { return x / (1 + std::abs(x)); }
};

struct Gelu : Float<1> {
  static constexpr auto name = "gelu";
  static constexpr GradientRule gradient = reads_input(gradients::gelu);
  static constexpr auto doc = "x * Phi(x), Phi the normal distribution's; exact form, by erf";
  static constexpr double cost = 16;
  static constexpr double ulp = 8;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return gelu(x);
  }
  static long double reference(long double x) {
    return gate(x, std::erfc(-x * 0.70710678118654752440084436210484904L) / 2);
  }
};

struct GeluTanh : Float<1> {
  static constexpr auto name = "gelu_tanh";
  static constexpr GradientRule gradient = reads_input(gradients::gelu_tanh);
  static constexpr auto doc = "gelu approximated by tanh(sqrt(2/pi) (x + 0.044715 x^3))";
  static constexpr double cost = 16;
  static constexpr double ulp = 4.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return gelu_tanh(x);
  }
  static long double reference(long double x) {
    const long double twice = 1.59576912160573071175978423973752L * (x + 0.044715L * x * x * x);
    return gate(x, 1 / (1 + std::exp(-twice)));
  }
};

struct HardSigmoid : Float<1> {
  static constexpr auto name = "hard_sigmoid";
  static constexpr GradientRule gradient = reads_output(gradients::hard_sigmoid);
  static constexpr auto doc = "min(max(x / 6 + 1/2, 0), 1)";
  static constexpr double cost = 2;
  static constexpr double ulp = 1.5;
  static constexpr double low = -4;
  static constexpr double high = 4;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return min(max(x + V(3), V(0)), V(6)) / V(6);
  }
  static long double reference(long double x) {
    const long double y = (x + 3) / 6;
    return y > 1 ? 1 : y > 0 || std::isnan(y) ? y : 0;
  }
};

struct HardSwish : Float<1> {
  static constexpr auto name = "hard_swish";
  static constexpr GradientRule gradient = reads_input(gradients::hard_swish);
  static constexpr auto doc = "x * hard_sigmoid(x)";
  static constexpr double cost = 2;
  static constexpr double ulp = 2;
  static constexpr double low = -4;
  static constexpr double high = 4;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return max(x, V(-3)) * HardSigmoid::apply(x);
  }
  static long double reference(long double x) { return gate(x, HardSigmoid::reference(x)); }
};

struct Mish : Float<1> {
  static constexpr auto name = "mish";
  static constexpr GradientRule gradient = reads_input(gradients::mish);
  static constexpr auto doc = "x * tanh(softplus(x))";
  static constexpr double cost = 12;
  static constexpr double ulp = 5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return mish(x);
  }
  static long double reference(long double x) { return gate(x, std::tanh(Softplus::reference(x))); }
};

struct Tanh : Float<1> {
  static constexpr auto name = "tanh";
  static constexpr GradientRule gradient = reads_output(gradients::tanh);
  static constexpr auto doc = "hyperbolic tangent";
  static constexpr double ulp = 3.5;
  template <class V>
  static HWY_INLINE V apply(V x) {
    return tanh(x);
  }
  static long double reference(long double x) { return std::tanh(x); }
};

using Activations = List<Relu, Relu6, LeakyRelu, Elu, Selu, Sigmoid, Silu, Softplus, Softsign, Gelu,
                         GeluTanh, HardSigmoid, HardSwish, Mish, Tanh>;

const Bodies* activation_bodies() { return bodies_of_all(Activations()); }

}  // namespace HWY_NAMESPACE
}  // namespace tenure::ops
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace tenure::ops {

HWY_EXPORT(activation_bodies);

const Family& activation_family() {
  static const auto& family = *new Family("activation", HWY_NAMESPACE::Activations(),
                                          HWY_DYNAMIC_DISPATCH(activation_bodies)());
  return family;
}

namespace {

template <class Op, class... Operands>
Tensor run(const Operands&... operands) {
  return call(activation_family()[index_of<Op>(HWY_NAMESPACE::Activations())], operands...);
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

namespace target = ops::HWY_NAMESPACE;
using ops::run;

Tensor relu(const Operand& x) { return run<target::Relu>(x); }
Tensor relu6(const Operand& x) { return run<target::Relu6>(x); }
Tensor leaky_relu(const Operand& x, const Operand& slope) {
  return run<target::LeakyRelu>(x, slope);
}
Tensor elu(const Operand& x, const Operand& alpha) { return run<target::Elu>(x, alpha); }
Tensor selu(const Operand& x) { return run<target::Selu>(x); }
Tensor sigmoid(const Operand& x) { return run<target::Sigmoid>(x); }
Tensor silu(const Operand& x) { return run<target::Silu>(x); }
Tensor softplus(const Operand& x) { return run<target::Softplus>(x); }
Tensor softsign(const Operand& x) { return run<target::Softsign>(x); }
Tensor gelu(const Operand& x) { return run<target::Gelu>(x); }
Tensor gelu_tanh(const Operand& x) { return run<target::GeluTanh>(x); }
Tensor hard_sigmoid(const Operand& x) { return run<target::HardSigmoid>(x); }
Tensor hard_swish(const Operand& x) { return run<target::HardSwish>(x); }
Tensor mish(const Operand& x) { return run<target::Mish>(x); }
Tensor tanh(const Operand& x) { return run<target::Tanh>(x); }

}  // namespace tenure
#endif
