#pragma once

#include <span>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::eager {

/// Operands of a call instead of the given ones, of which some are others. Whoever has called with
/// them uses up the given ones.
class Instead {
 public:
  /// Under Autocast, those in the types that the op wants: rounded to its type, or widened to
  /// float32. In the call with them, parts of a composite are as they are: it has been seen to as a
  /// whole.
  static Instead by_precision(const ops::OpRecord& op, std::span<const Operand> given);
  /// Those on one device: what is everywhere (ops/shape/meet.h) is where the others are.
  static Instead by_device(const ops::OpRecord& op, std::span<const Operand> given);

  /// Whether one of them is another than what was given.
  bool differ() const { return !made_.empty(); }
  std::span<const Operand> get() const { return operands_; }

 private:
  template <class Changes, class Make>
  static Instead of(std::span<const Operand> given, const Changes& changes, const Make& make);

  std::vector<Tensor> made_;
  std::vector<Operand> operands_;
};

}  // namespace tenure::eager
