#pragma once

#include "tenure/kernels/cuda/reduce/axis_arguments.h"
#include "tenure/kernels/cuda/reduce/reduce_plan.h"

// Ops along one axis. A group of threads has a column; how it works on that follows from its length
// and from what lies after the axis, not from how many columns there are: a call in parts has the
// bits of the whole.

namespace tenure::kernels::cuda {

/// The columns of a view. A rank of zero counts as one element along axis 0.
inline AxisView axis_view(const View& view, int axis) {
  AxisView made{
      .data = view.data, .columns = {}, .step = view.shape.empty() ? 1 : view.strides[axis]};
  for (int d = 0; d < view.shape.size(); ++d) {
    if (d != axis) push(made.columns, view.shape[d], view.strides[d]);
  }
  return made;
}

/// Columns of one length.
struct AxisShape {
  std::int64_t length = 1;
  std::int64_t columns = 1;
  std::int64_t inner = 1;  ///< of them, those that lie side by side

  AxisShape(const Shape& shape, int axis) {
    for (int d = 0; d < shape.size(); ++d) {
      if (d == axis) {
        length = shape[d];
      } else {
        columns *= shape[d];
        if (d > axis) inner *= shape[d];
      }
    }
  }
  /// With so many elements for each thread, if they are many.
  Groups groups(std::size_t element, std::int64_t of_thread) const {
    if (inner > 1) return groups_for((length + of_thread - 1) / of_thread, inner, element);
    const std::int64_t wanted =
        std::max((length + of_thread - 1) / of_thread, std::min<std::int64_t>(length, 32));
    return groups_for(wanted, 1, element);
  }
};

}  // namespace tenure::kernels::cuda
