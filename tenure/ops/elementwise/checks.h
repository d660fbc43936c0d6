#pragma once

#include <span>

#include "tenure/kernels/view.h"

namespace tenure::ops {

/// Throws ValueError if the last operand of an op that computes in integers has a zero: it would
/// divide by it.
void reject_zero(const char* op, DType compute, std::span<const kernels::View> in);
/// Throws ValueError if it has a negative element.
void reject_negative(const char* op, DType compute, std::span<const kernels::View> in);

}  // namespace tenure::ops
