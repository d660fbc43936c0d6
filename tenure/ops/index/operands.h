#pragma once

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

// What the indexing ops ask of their operands.

namespace tenure::ops {

/// The tensor of an operand that must have axes: a number throws ValueError.
TensorBody& body_of(const Operand& x, const char* op);

/// Throws DTypeError unless the elements are int32 or int64.
void check_index_type(const View& indices, const char* op);
/// Throws DTypeError unless both have one element type.
void check_same_type(const View& x, const View& values, const char* op);
/// Throws DTypeError for a floating number next to integers, and for all but 0 and 1 next to bool.
void check_kind(const Scalar& number, DType dtype, const char* op);

/// `values` in the element type of `x`, which must hold all of theirs; a number on its device.
/// Throws DTypeError.
Tensor converted(const Operand& values, const TensorBody& x, const char* op);

}  // namespace tenure::ops
