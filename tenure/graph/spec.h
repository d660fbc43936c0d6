#pragma once

#include "tenure/tensor/tensor.h"

namespace tenure {

namespace graph {

/// A tensor that is nothing but its type and shape, to plan with.
Tensor spec_tensor(DType dtype, const Shape& shape, Site site);

}  // namespace graph

/// A stand-in for a tensor of this type and shape, for plan(): it has no data.
inline Tensor spec(const Shape& shape, DType dtype = DType::float32, Site site = Site::current()) {
  return graph::spec_tensor(dtype, shape, site);
}

}  // namespace tenure
