#pragma once

#include <algorithm>
#include <span>
#include <vector>

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

/// Of binary cross entropy of probabilities: bounds on log(x) and log(1 - x), and on x (1 - x).
inline constexpr double kLeastLog = -100;
inline constexpr double kLeastProduct = 1e-12;

/// The shape without its last axis.
inline Shape rows_of(Shape shape) {
  shape.erase(shape.size() - 1);
  return shape;
}

/// Throws DTypeError unless input i has the type of input 0.
void require_type_of_first(const Kernel& k, std::size_t i);
/// Throws ShapeError unless input i has this shape.
void require_shape(const Kernel& k, std::size_t i, const char* what, const Shape& shape);
/// Throws ShapeError unless the last axis of input 0 has classes.
void require_classes(const Kernel& k);
/// Throws unless input 1 has a class, int32 or int64, for each row of input 0. `what` it may be.
void require_class_targets(const Kernel& k, const char* what);

// Of losses that are written in other ops.

/// Type and shape of each operand, for the checks above. Throws ShapeError if one is a number.
std::vector<View> specs_of(const char* op, std::span<const Operand> operands);
/// In float32 if it has 16 bits: what is written in several ops is rounded once.
Tensor widened(const Operand& x);
/// The losses `each`, of elements or rows, as the reduction has them, in this type.
Tensor reduced(Tensor each, Reduction reduction, DType dtype, Site site);
/// What reduced() gives, for references.
std::vector<Reference> reduced(Reference each, Reduction reduction);

}  // namespace tenure::ops
