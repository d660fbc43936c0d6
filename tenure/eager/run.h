#pragma once

#include <span>
#include <vector>

#include "tenure/ops/core/dispatch.h"

// What tenure/wiring.cpp gives ops/core/dispatch.h, which says what each does.

namespace tenure::eager {

Tensor run_now(const ops::OpRecord& op, std::span<const Operand> operands,
               const ops::Attributes& attributes, Site site);
Tensor run_now(const ops::OpRecord& op, const Operand& a, const Operand& b);
std::vector<Tensor> run_many_now(const ops::OpRecord& op, std::span<const Operand> operands,
                                 const ops::Attributes& attributes, Site site);
Tensor run_untaped(const ops::OpRecord& op, std::span<const Operand> operands,
                   const ops::Attributes& attributes, Site site);
std::vector<Tensor> run_many_untaped(const ops::OpRecord& op, std::span<const Operand> operands,
                                     const ops::Attributes& attributes, Site site);

}  // namespace tenure::eager
