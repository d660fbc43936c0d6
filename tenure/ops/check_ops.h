#pragma once

#include "tenure/ops/core/operand.h"

// Ops that look at elements and refuse some. Defined in index/within.cpp.

namespace tenure {

/// x itself, if all of its elements lie in [low, high]; else a ValueError that names the first that
/// does not, when the op runs. NaN lies nowhere.
Tensor within(const Operand& x, double low, double high);

}  // namespace tenure
