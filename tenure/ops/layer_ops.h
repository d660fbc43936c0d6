#pragma once

#include "tenure/ops/core/operand.h"

// Defined in nn/dropout.cpp.

namespace tenure {

/// x / (1 - p) or, with probability p, zero. Which elements go is decided by sixteen bytes of the
/// default generator's state: a backward pass holds these, and makes the same choice again.
Tensor dropout(const Operand& x, double p = 0.5);

/// The rows of a table at `indices`, int32 or int64: `take` along the first axis.
Tensor embedding(const Operand& indices, const Operand& table);

}  // namespace tenure
