#pragma once

#include <cstdint>

#include "tenure/tensor/shape.h"

namespace tenure {

/// Calls `f(offset)` for every element of a strided layout, in row-major order.
template <class F>
void for_each_offset(const Shape& shape, const Strides& strides, F&& f) {
  if (count(shape) == 0) return;
  const int rank = shape.size();
  Dims index = Dims::filled(rank, 0);
  std::int64_t offset = 0;
  while (true) {
    f(offset);
    int axis = rank - 1;
    for (; axis >= 0; --axis) {
      offset += strides[axis];
      if (++index[axis] < shape[axis]) break;
      offset -= strides[axis] * shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

}  // namespace tenure
