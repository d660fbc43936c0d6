#pragma once

#include <span>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// Runs an op that has a kernel of its own, or a view, and gives its first result. Moved operands
/// are used up, if it succeeds.
Tensor run_structured(const ops::OpRecord& op, std::span<const Operand> operands,
                      const ops::Attributes& attributes, Site site);
/// The same with all results.
std::vector<Tensor> run_structured_many(const ops::OpRecord& op, std::span<const Operand> operands,
                                        const ops::Attributes& attributes, Site site);

}  // namespace tenure::eager
