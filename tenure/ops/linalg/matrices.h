#pragma once

#include "tenure/ops/core/record.h"

// What matmul and integer_matmul make of its operands' shapes.

namespace tenure::ops {

/// An operand as a matrix: a vector gets the dimension that it lacks.
inline View as_matrix(View view, int missing_axis) {
  if (view.shape.size() == 1) {
    view.shape.insert(missing_axis, 1);
    view.strides.insert(missing_axis, 0);
  }
  return view;
}

/// The shape of a product of matrices, over leading dimensions that broadcast. `op` is for errors.
inline Shape matrix_shape(const Shape& a, const Shape& b, std::string_view op = "matmul") {
  const auto batch_of = [](Shape shape) {
    shape.erase(shape.size() - 1);
    shape.erase(shape.size() - 1);
    return shape;
  };
  Shape shape = broadcast(batch_of(a), batch_of(b), op);
  shape.push_back(a[a.size() - 2]);
  shape.push_back(b.back());
  return shape;
}

}  // namespace tenure::ops
