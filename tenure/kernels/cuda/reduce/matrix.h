#pragma once

#include <array>
#include <initializer_list>

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
/// Rows along one axis, in the order of what else there is. A rank of zero is one element.
inline MatrixView matrix_along(const View& view, int axis) {
  MatrixView made{.data = view.data, .rows = {}, .columns = {}};
  for (int d = 0; d < view.shape.size(); ++d) {
    push(d == axis ? made.columns : made.rows, view.shape[d], view.strides[d]);
  }
  return made;
}
inline FlatView flat_view(const View& view) {
  FlatView made{.data = view.data, .walk = {}};
  for (int d = 0; d < view.shape.size(); ++d) push(made.walk, view.shape[d], view.strides[d]);
  return made;
}

/// Whether 16 bytes can be read there at once.
inline bool is_aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
}
/// Whether elements lie side by side, if there are several.
inline bool is_side_by_side(const Walk& walk) {
  return walk.rank == 0 || (walk.rank == 1 && walk.strides[0] == 1);
}
/// Whether all rows consist of strips of 16 bytes, where each of those has whole ones.
bool has_strips(const MatrixView& matrix, std::size_t element);

/// How rows of `columns` elements are gone over. The layout of matrices that have them, and of what
/// is read for each column, says whether strips are read at once, and nothing else.
struct RowShape {
  RowForm form = kLoopedRows;
  Groups groups{};

  RowShape(std::initializer_list<const MatrixView*> matrices,
           std::initializer_list<const FlatView*> numbers, std::int64_t columns,
           std::size_t element);
};

/// Of a template <RowForm form, class T>, a kernel for each form.
class RowKernels {
 public:
  explicit RowKernels(const TypedKernel& kernel);

  const TypedKernel& of(RowForm form) const { return kernels_[static_cast<std::size_t>(form)]; }
  /// For the list of a family.
  void add_to(std::vector<const TypedKernel*>& list) const;

 private:
  std::array<TypedKernel, kRowForms> kernels_;
};

}  // namespace tenure::kernels::cuda
