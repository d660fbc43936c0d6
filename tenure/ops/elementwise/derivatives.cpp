#include "tenure/ops/derivatives.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tenure/ops/elementwise/derivatives.cpp"
#include <hwy/foreach_target.h>

#include "tenure/kernels/cpu/elementwise/math-inl.h"
#include "tenure/ops/elementwise/bodies-inl.h"
#include "tenure/ops/elementwise/gradients.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::ops {
namespace HWY_NAMESPACE {

/// The second input is the value of the function.
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

using Derivatives = List<ReluGradient, TanhGradient, SigmoidGradient>;

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
Tensor run(const Operand& gradient, const Operand& y) {
  return call(derivative_family()[index_of<Op>(HWY_NAMESPACE::Derivatives())], gradient, y);
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

}  // namespace tenure
#endif
