#pragma once

#include "tenure/ops/core/operand.h"

// Derivatives that gradient rules need as one op: `gradient` times the derivative of a function of
// x whose result is `y`. A moved input of the result's shape is computed in place.
// elementwise/derivatives-inl.h has them, by way of elementwise/elementwise.cpp; those of softmax
// are in reduce/axiswise.cpp.

namespace tenure {

Tensor relu_gradient(const Operand& gradient, const Operand& y);
Tensor tanh_gradient(const Operand& gradient, const Operand& y);
Tensor sigmoid_gradient(const Operand& gradient, const Operand& y);
Tensor silu_gradient(const Operand& gradient, const Operand& x);
Tensor gelu_gradient(const Operand& gradient, const Operand& x);
Tensor gelu_tanh_gradient(const Operand& gradient, const Operand& x);
Tensor softmax_gradient(const Operand& gradient, const Operand& y, int axis);
Tensor log_softmax_gradient(const Operand& gradient, const Operand& y, int axis);

}  // namespace tenure
