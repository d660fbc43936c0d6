#pragma once

#include <algorithm>

#include "tenure/ops/core/record.h"
#include "tenure/ops/loss_ops.h"

// What the losses share. The last attribute of a loss and of its gradient is the reduction.

namespace tenure::ops {

inline Reduction reduction_of(const Attributes& a) {
  return static_cast<Reduction>(a.integer(a.size() - 1));
}
inline std::int64_t to_attribute(Reduction reduction) {
  return static_cast<std::int64_t>(reduction);
}

/// Of losses of a prediction and a target.
inline bool has_parameter(const Attributes& a) { return a.size() == 2; }
/// It stands before the reduction.
inline double parameter_of(const Attributes& a) { return has_parameter(a) ? a.number(0) : 0; }

/// What the loss of one of n elements or rows counts in the result.
inline double scale_of(Reduction reduction, std::int64_t n) {
  return reduction == Reduction::mean ? 1.0 / static_cast<double>(std::max<std::int64_t>(n, 1)) : 1;
}

/// Throws DTypeError unless input i has the type of input 0.
void require_type_of_first(const Kernel& k, std::size_t i);
/// Throws ShapeError unless input i has this shape.
void require_shape(const Kernel& k, std::size_t i, const char* what, const Shape& shape);

}  // namespace tenure::ops
