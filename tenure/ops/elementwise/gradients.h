#pragma once

#include <cstddef>
#include <utility>

#include "tenure/ops/core/gradient.h"
#include "tenure/ops/elementwise.h"

// What the gradients of elementwise ops share.

namespace tenure::ops::gradients {

/// The gradient of input i, from a result that has the op's shape.
void give(Backward& b, std::size_t i, Tensor gradient);
/// The gradient itself, for input i: used up if no later input wants it.
Operand gradient_for(Backward& b, std::size_t i);
Tensor handle_for(Backward& b, std::size_t i);
bool is_number(const Backward& b, std::size_t i);

/// `gradient` times `slope`.
void multiply(Backward& b, Tensor slope);
/// 1 + sign * x^2.
Tensor one_and_square(Backward& b, double sign);
/// s (1 - s), of a sigmoid s.
Tensor sigmoid_slope(const Backward& b, const Tensor& s);
/// 1 - 2s.
Tensor sigmoid_bend(const Backward& b, const Tensor& s);

/// Of the larger or the smaller of two: the one for which `wins` holds has the whole gradient;
/// where they are equal, each has half of it.
void share(Backward& b, Tensor (*wins)(const Operand&, const Operand&));

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

}  // namespace tenure::ops::gradients
