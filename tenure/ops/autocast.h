#pragma once

#include "tenure/ops/core/call_context.h"

namespace tenure {

/// While it lives, products of matrices, convolutions and attention of this thread compute in 16
/// bits, with sums in float32: what they are given in float32 is rounded, and their results are of
/// that type. Elementwise ops and views go on in what they get, as do images of 16 bits that are
/// normalized beside float32 parameters; losses, reductions and softmax, and whatever else meets
/// float32, go on in float32. Which op does what is in its record. Parameters, their
/// gradients and the states of optimizers stay float32, and float64 stays as it is.
///
/// Gradients have the types of their calls, in and outside of such a scope. A function is traced
/// for each type.
class Autocast : ops::ContextScope<&ops::CallContext::autocast> {
 public:
  /// bfloat16 or float16, whose numbers end at 65504 and whose small gradients want a loss that is
  /// scaled (nn::LossScale); float32: within another one, as if there were none. Throws DTypeError
  /// for other types.
  explicit Autocast(DType type = DType::bfloat16) : ContextScope(checked(type)) {}

 private:
  static DType checked(DType type);
};

}  // namespace tenure
