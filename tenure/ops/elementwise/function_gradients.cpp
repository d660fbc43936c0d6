#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/elementwise/gradients.h"

// Trigonometric functions and activations.

namespace tenure::ops::gradients {
namespace {

/// `gradient` times `slope`.
void multiply(Backward& b, Tensor slope) {
  b.results[0] = tenure::mul(b.take_gradient(), b.at(std::move(slope)));
}
/// 1 + sign * x^2.
Tensor one_and_square(Backward& b, double sign) {
  Tensor square = tenure::square(b.take_input(0));
  return sign > 0 ? tenure::add(b.at(std::move(square)), 1.0)
                  : tenure::sub(Operand(1.0, b.site), b.at(std::move(square)));
}
/// s (1 - s), of a sigmoid s.
Tensor sigmoid_slope(const Backward& b, const Tensor& s) {
  Tensor rest = tenure::sub(Operand(1.0, b.site), Operand(s, b.site));
  return tenure::mul(b.at(std::move(rest)), Operand(s, b.site));
}
/// 1 - 2s.
Tensor sigmoid_bend(const Backward& b, const Tensor& s) {
  return tenure::sub(Operand(1.0, b.site), b.at(tenure::mul(Operand(s, b.site), 2.0)));
}

/// The rule of a call gradient * f'(x) with the curvature f''(x).
template <class Gradient, class Curvature>
void differentiate_slope(Backward& b, const Gradient& gradient, double end,
                         const Curvature& curvature) {
  if (b.wants(1)) {
    // From `end` on the curvature is zero in every type. Infinity times zero would not be.
    const Tensor x = tenure::clamp(b.input(1), -end, end);
    Tensor slope = tenure::mul(b.at(curvature(x)), b.input(0));
    b.results[1] = to_input(b, 1, tenure::mul(b.at(std::move(slope)), b.gradient()));
  }
  if (b.wants(0)) b.results[0] = to_input(b, 0, gradient(b.take_gradient(), b.input(1)));
}

}  // namespace

void sin(Backward& b) { multiply(b, tenure::cos(b.take_input(0))); }
void cos(Backward& b) { multiply(b, tenure::neg(b.at(tenure::sin(b.take_input(0))))); }
void tan(Backward& b) { multiply(b, tenure::add(b.at(tenure::square(b.take_output())), 1.0)); }
void asin(Backward& b) { multiply(b, tenure::rsqrt(b.at(one_and_square(b, -1)))); }
void acos(Backward& b) {
  multiply(b, tenure::neg(b.at(tenure::rsqrt(b.at(one_and_square(b, -1))))));
}
void atan(Backward& b) {
  b.results[0] = tenure::div(b.take_gradient(), b.at(one_and_square(b, 1)));
}
void atan2(Backward& b) {
  // The square of a number is computed here: as a tensor of its own it would be float32.
  const auto is_number = [&b](std::size_t i) { return !b.numbers.empty() && b.numbers[i]; };
  const std::size_t first = is_number(0) ? 1 : 0;
  const std::size_t second = 1 - first;
  Tensor square = tenure::square(b.input(first));
  if (is_number(second)) {
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
void sinh(Backward& b) { multiply(b, tenure::cosh(b.take_input(0))); }
void cosh(Backward& b) { multiply(b, tenure::sinh(b.take_input(0))); }
void tanh(Backward& b) { b.results[0] = tenure::tanh_gradient(b.take_gradient(), b.take_output()); }
void asinh(Backward& b) { multiply(b, tenure::rsqrt(b.at(one_and_square(b, 1)))); }
void acosh(Backward& b) {
  Tensor square = tenure::square(b.take_input(0));
  multiply(b, tenure::rsqrt(b.at(tenure::sub(b.at(std::move(square)), 1.0))));
}
void atanh(Backward& b) {
  b.results[0] = tenure::div(b.take_gradient(), b.at(one_and_square(b, -1)));
}
void erf(Backward& b) {
  Tensor bell = tenure::exp(b.at(tenure::neg(b.at(tenure::square(b.take_input(0))))));
  multiply(b, tenure::mul(b.at(std::move(bell)), 1.1283791670955125739));  // 2 / sqrt(pi)
}

void relu(Backward& b) { b.results[0] = tenure::relu_gradient(b.take_gradient(), b.take_output()); }
void relu6(Backward& b) {
  Tensor inside = tenure::less(b.output(), 6);
  const Tensor rises =
      tenure::logical_and(b.at(std::move(inside)), b.at(tenure::greater(b.output(), 0)));
  b.results[0] = tenure::where(Operand(rises, b.site), b.take_gradient(), 0.0);
}
void leaky_relu(Backward& b) {
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
void elu(Backward& b) {
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
void selu(Backward& b) {
  constexpr double kScale = 1.0507009873554804934193349852946;
  constexpr double kFloor = kScale * 1.6732632423543772848170429916717;
  const Tensor above = tenure::greater(b.output(), 0);
  Tensor slope = tenure::add(b.take_output(), kFloor);
  multiply(b, tenure::where(Operand(above, b.site), kScale, b.at(std::move(slope))));
}
void sigmoid(Backward& b) {
  b.results[0] = tenure::sigmoid_gradient(b.take_gradient(), b.take_output());
}
void silu(Backward& b) { b.results[0] = tenure::silu_gradient(b.take_gradient(), b.take_input(0)); }
void softplus(Backward& b) { multiply(b, tenure::sigmoid(b.take_input(0))); }
void softsign(Backward& b) {
  // 1 / (1 + |x|)^2 is (1 - |y|)^2.
  Tensor rest = tenure::sub(Operand(1.0, b.site), b.at(tenure::abs(b.take_output())));
  multiply(b, tenure::square(b.at(std::move(rest))));
}
void gelu(Backward& b) { b.results[0] = tenure::gelu_gradient(b.take_gradient(), b.take_input(0)); }
void gelu_tanh(Backward& b) {
  b.results[0] = tenure::gelu_tanh_gradient(b.take_gradient(), b.take_input(0));
}
void hard_sigmoid(Backward& b) {
  Tensor inside = tenure::less(b.output(), 1);
  const Tensor rises =
      tenure::logical_and(b.at(std::move(inside)), b.at(tenure::greater(b.output(), 0)));
  Tensor slope = tenure::mul(b.take_gradient(), 1.0 / 6);
  b.results[0] = tenure::where(Operand(rises, b.site), b.at(std::move(slope)), 0.0);
}
void hard_swish(Backward& b) {
  // (2x + 3) / 6 between -3 and 3.
  const Tensor above = tenure::greater(b.input(0), 3);
  const Tensor below = tenure::less(b.input(0), -3);
  Tensor slope = tenure::add(b.at(tenure::mul(b.take_input(0), 1.0 / 3)), 0.5);
  slope = tenure::where(Operand(above, b.site), 1.0, b.at(std::move(slope)));
  multiply(b, tenure::where(Operand(below, b.site), 0.0, b.at(std::move(slope))));
}
void mish(Backward& b) {
  // t + x (1 - t^2) sigmoid(x) with t = tanh(softplus(x))
  const Tensor t = tenure::tanh(b.at(tenure::softplus(b.input(0))));
  Tensor slope = tenure::tanh_gradient(b.at(tenure::sigmoid(b.input(0))), Operand(t, b.site));
  slope = tenure::mul(b.at(std::move(slope)), b.take_input(0));
  multiply(b, tenure::add(b.at(std::move(slope)), Operand(t, b.site)));
}

void silu_gradient(Backward& b) {
  // s' (2 + x (1 - 2s)) with s = sigmoid(x)
  differentiate_slope(b, tenure::silu_gradient, 800, [&](const Tensor& x) {
    const Tensor s = tenure::sigmoid(Operand(x, b.site));
    Tensor sum = tenure::mul(b.at(sigmoid_bend(b, s)), Operand(x, b.site));
    sum = tenure::add(b.at(std::move(sum)), 2.0);
    return tenure::mul(b.at(std::move(sum)), b.at(sigmoid_slope(b, s)));
  });
}
void gelu_gradient(Backward& b) {
  // phi(x) (2 - x^2)
  constexpr double kBell = 0.39894228040143267794;  // 1 / sqrt(2 pi)
  differentiate_slope(b, tenure::gelu_gradient, 40, [&](const Tensor& x) {
    const Tensor square = tenure::square(Operand(x, b.site));
    Tensor bell = tenure::exp(b.at(tenure::mul(Operand(square, b.site), -0.5)));
    Tensor rest = tenure::sub(Operand(2.0, b.site), Operand(square, b.site));
    return tenure::mul(b.at(tenure::mul(b.at(std::move(bell)), kBell)), b.at(std::move(rest)));
  });
}
void gelu_tanh_gradient(Backward& b) {
  // s' (2v' + x ((1 - 2s) v'^2 + v'')) with s = sigmoid(v) and v = kLinear x + kCubic x^3
  constexpr double kLinear = 1.59576912160573071176;
  constexpr double kCubic = kLinear * 0.044715;
  differentiate_slope(b, tenure::gelu_tanh_gradient, 22, [&](const Tensor& x) {
    const Tensor square = tenure::square(Operand(x, b.site));
    Tensor v = tenure::add(b.at(tenure::mul(Operand(square, b.site), kCubic)), kLinear);
    const Tensor s = tenure::sigmoid(b.at(tenure::mul(b.at(std::move(v)), Operand(x, b.site))));
    const Tensor rise =
        tenure::add(b.at(tenure::mul(Operand(square, b.site), 3 * kCubic)), kLinear);
    const Tensor slope = sigmoid_slope(b, s);
    Tensor bend =
        tenure::mul(b.at(sigmoid_bend(b, s)), b.at(tenure::square(Operand(rise, b.site))));
    bend = tenure::add(b.at(std::move(bend)), b.at(tenure::mul(Operand(x, b.site), 6 * kCubic)));
    // x s' first: it is small where the rest is large.
    Tensor far = tenure::mul(Operand(x, b.site), Operand(slope, b.site));
    far = tenure::mul(b.at(std::move(far)), b.at(std::move(bend)));
    Tensor near = tenure::mul(Operand(rise, b.site), Operand(slope, b.site));
    return tenure::add(b.at(tenure::mul(b.at(std::move(near)), 2.0)), b.at(std::move(far)));
  });
}

}  // namespace tenure::ops::gradients
