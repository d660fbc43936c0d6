#pragma once

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {

/// Calls an op of x and of an operand whose shape alone counts: no tape goes back to that. A
/// gradient of zero would not do: it would go on to what the operand was made of, and beyond an
/// infinite slope be no zero.
inline Tensor call_like(const OpRecord& op, const Operand& x, const Operand& like) {
  if (like.is_scalar() || current_tape() == nullptr) return call(op, {x, like});
  const Tensor apart = stop_gradient(like);
  return call(op, {x, Operand(apart, like.site())});
}

}  // namespace tenure::ops
