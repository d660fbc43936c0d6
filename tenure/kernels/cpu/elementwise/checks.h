#pragma once

#include "tenure/kernels/view.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels {

/// Throws ValueError if the last operand of an op that computes in integers has a zero: it would
/// divide by it.
void reject_zero(const char* op, DType compute, const ops::LoopInputs& in);
/// Throws ValueError if it has a negative element.
void reject_negative(const char* op, DType compute, const ops::LoopInputs& in);

}  // namespace tenure::kernels
