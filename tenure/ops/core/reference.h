#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/ops/core/record.h"
#include "tenure/tensor/strided.h"

// Helpers for the references that ops state beside their kernels: slow, plain, obviously right.

namespace tenure::ops {

/// Calls `f(index)` for every index of `shape`, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F&& f) {
  const std::int64_t n = count(shape);
  Dims index = Dims::filled(shape.size(), 0);
  for (std::int64_t i = 0; i < n; ++i) {
    f(static_cast<const Dims&>(index));
    for (int axis = shape.size() - 1; axis >= 0 && ++index[axis] == shape[axis]; --axis) {
      index[axis] = 0;
    }
  }
}

/// Where an index lies in row-major order.
inline std::size_t flat(const Shape& shape, const Dims& index) {
  std::int64_t at = 0;
  for (int axis = 0; axis < shape.size(); ++axis) at = at * shape[axis] + index[axis];
  return static_cast<std::size_t>(at);
}

inline long double at(const Reference& tensor, const Dims& index) {
  return tensor.values[flat(tensor.shape, index)];
}

/// A tensor whose element at each index is `f(index)`.
template <class F>
Reference make_reference(const Shape& shape, F&& f) {
  Reference result{.shape = shape, .values = {}};
  result.values.reserve(static_cast<std::size_t>(count(shape)));
  for_each_index(shape, [&](const Dims& index) { result.values.push_back(f(index)); });
  return result;
}

/// `f(elements)` of what each index reads of all inputs, which broadcast.
template <class F>
Reference broadcast_reference(const char* op, const std::vector<Reference>& in, F&& f) {
  Shape shape;
  for (const Reference& input : in) shape = broadcast(shape, input.shape, op);
  std::vector<long double> elements(in.size());
  return make_reference(shape, [&](const Dims& index) -> long double {
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Shape& own = in[i].shape;
      const Strides strides = broadcast_strides(own, contiguous_strides(own), shape);
      std::int64_t at = 0;
      for (int axis = 0; axis < shape.size(); ++axis) at += index[axis] * strides[axis];
      elements[i] = in[i].values[static_cast<std::size_t>(at)];
    }
    return f(elements);
  });
}

}  // namespace tenure::ops
