#pragma once

#include "tenure/tensor/dtype.h"

namespace tenure::ops {

/// The type that sums over elements of a floating type are computed in: float32 at least.
constexpr DType compute_type(DType dtype) {
  return dtype == DType::float64 ? DType::float64 : DType::float32;
}

}  // namespace tenure::ops
