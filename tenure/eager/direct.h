#pragma once

#include <optional>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// By the direct kernel of their device, if there is one and it takes these operands, which stay
/// what they are.
std::optional<Tensor> direct_result(const ops::OpRecord& op, const Operand& left,
                                    const Operand& right);

/// The same. Moved operands are used up.
inline std::optional<Tensor> run_direct(const ops::OpRecord& op, const Operand& left,
                                        const Operand& right) {
  std::optional<Tensor> result = direct_result(op, left, right);
  if (result) {
    left.consume();
    right.consume();
  }
  return result;
}

}  // namespace tenure::eager
