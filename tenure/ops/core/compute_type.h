#pragma once

#include "tenure/tensor/dtype.h"

namespace tenure::ops {

/// The type that sums over elements of a floating type are computed in: float32 at least.
constexpr DType compute_type(DType dtype) {
  return dtype == DType::float64 ? DType::float64 : DType::float32;
}

/// The type that one element is computed in: 16-bit floats in float32, others as themselves.
constexpr DType widened_type(DType dtype) {
  return is_narrow_float(dtype) ? DType::float32 : dtype;
}

}  // namespace tenure::ops
