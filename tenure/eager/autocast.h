#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// The operands of a call under Autocast in the types that its op wants: rounded to bfloat16, or
/// widened to float32. Whoever has called with them uses up the given ones.
class AutocastOperands {
 public:
  AutocastOperands(const ops::OpRecord& op, std::span<const Operand> given);

  /// Whether one of them is another than what was given.
  bool differ() const { return !made_.empty(); }
  /// In the call with them, parts of a composite are as they are: it has been seen to as a whole.
  std::span<const Operand> get() const { return operands_; }

 private:
  std::vector<Tensor> made_;
  std::vector<Operand> operands_;
};

}  // namespace tenure::eager
