#pragma once

#include "tenure/ops/core/gradient.h"

// Gradients of branches and loops, the rules of graph/ir/control_ops.h. The way back is a branch or
// a loop itself: its bodies replay those of the way there, under a tape. It computes everything
// again, from the same operands.

namespace tenure::autograd {

void gradient_of_cond(ops::Backward& b);
void gradient_of_while(ops::Backward& b);
void gradient_of_scan(ops::Backward& b);

}  // namespace tenure::autograd
