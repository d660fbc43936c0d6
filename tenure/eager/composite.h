#pragma once

#include <span>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// Runs the ops that a composite is written in. Wrong inputs are errors of the composite, not of
/// these.
std::vector<Tensor> run_composite(const ops::OpRecord& op, std::span<const Operand> operands,
                                  const ops::Attributes& attributes, Site site);

}  // namespace tenure::eager
