#pragma once

#include "tenure/ops/operand.h"

// Derivatives that gradient rules need as one op: `gradient` times the derivative of a function
// whose result is `y`. A moved input of the result's shape is computed in place.

namespace tenure {

Tensor relu_gradient(const Operand& gradient, const Operand& y);
Tensor tanh_gradient(const Operand& gradient, const Operand& y);
Tensor sigmoid_gradient(const Operand& gradient, const Operand& y);

}  // namespace tenure
