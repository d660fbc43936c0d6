#pragma once

#include "tenure/kernels/cuda/reduce/held_arguments.h"
#include "tenure/kernels/cuda/reduce/reduce_plan.h"

namespace tenure::kernels::cuda {

/// The last `dims` dimensions are the columns.
inline MatrixView matrix_view(const View& view, int dims) {
  MatrixView made{.data = view.data, .rows = {}, .columns = {}};
  for (int d = 0; d < view.shape.size(); ++d) {
    push(d < view.shape.size() - dims ? made.rows : made.columns, view.shape[d], view.strides[d]);
  }
  return made;
}
inline FlatView flat_view(const View& view) {
  FlatView made{.data = view.data, .walk = {}};
  for (int d = 0; d < view.shape.size(); ++d) push(made.walk, view.shape[d], view.strides[d]);
  return made;
}

/// Groups for rows that are held if they are short enough.
inline Groups groups_of_rows(std::int64_t columns, std::size_t element) {
  const std::int64_t of_thread = (columns + kHeldElements - 1) / kHeldElements;
  return groups_for(std::max(of_thread, std::min<std::int64_t>(columns, 32)), 1, element);
}

}  // namespace tenure::kernels::cuda
