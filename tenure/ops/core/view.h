#pragma once

#include <cstdint>

#include "tenure/tensor/dtype.h"
#include "tenure/tensor/shape.h"

namespace tenure::ops {

/// Inputs that an elementwise op has at most.
inline constexpr int kMaxArity = 3;

/// What a kernel sees of a tensor: elements of one type at strided places. Owns nothing. Kernels
/// only read views that they are given as inputs.
struct View {
  DType dtype = DType::float32;
  Shape shape{};
  Strides strides{};  ///< in elements; zero repeats an element, negative walks backwards
  void* data = nullptr;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::int64_t count() const { return tenure::count(shape); }
  bool contiguous() const { return is_contiguous(shape, strides); }
};

}  // namespace tenure::ops
