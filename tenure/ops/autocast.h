#pragma once

#include "tenure/ops/core/call_context.h"

namespace tenure {

/// While it lives, products of matrices, convolutions and attention of this thread compute in
/// bfloat16, with sums in float32: what they are given in float32 is rounded, and their results are
/// bfloat16. Elementwise ops and views go on in what they get; losses, reductions and softmax, and
/// whatever meets float32, go on in float32. Which op does what is in its record. Parameters, their
/// gradients and the states of optimizers stay float32, and float64 stays as it is.
///
/// Gradients have the types of their calls, in and outside of such a scope. A function is traced
/// for both.
class Autocast : ops::ContextScope<&ops::CallContext::autocast> {
 public:
  /// Off: within another one, as if there were none.
  explicit Autocast(bool on = true) noexcept : ContextScope(on) {}
};

}  // namespace tenure
