#pragma once

#include <span>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

Tensor run_elementwise(const ops::OpRecord& op, std::span<const Operand> operands);
Tensor run_elementwise(const ops::OpRecord& op, const Operand& a, const Operand& b);

}  // namespace tenure::eager
