#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "tenure/memory/default_device.h"
#include "tenure/memory/threads/thread_context.h"
#include "tenure/tensor/host.h"

// Tensors for tests, made without any op.

namespace tenure::test {

/// A contiguous tensor of these elements in row-major order. Throws ShapeError if they are too many
/// or too few.
template <Element T>
Tensor make(const Shape& shape, const std::vector<T>& values, Site site = Site::current()) {
  if (count(shape) != static_cast<std::int64_t>(values.size())) {
    throw ShapeError("make", "the values do not fill the shape", {shape.to_vector()});
  }
  PendingTensor pending(mem::this_thread(), default_device(), dtype_of<T>(), shape);
  HostRoom room(pending, values.size() * sizeof(T));
  std::copy(values.begin(), values.end(), static_cast<T*>(room.data()));
  room.finish();
  return pending.finish("make", site);
}

/// Elements 0, 1, 2, ... in row-major order.
template <Element T = float>
Tensor counting(const Shape& shape, Site site = Site::current()) {
  std::vector<T> values;
  for (std::int64_t i = 0; i < count(shape); ++i) {
    values.push_back(static_cast<T>(static_cast<float>(i)));
  }
  return make<T>(shape, values, site);
}

}  // namespace tenure::test
