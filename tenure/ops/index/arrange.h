#pragma once

#include "tenure/ops/core/record.h"

// What the attributes of tile and roll mean for a tensor.

namespace tenure::ops {

/// `dims` with ones in front up to `rank`.
inline Dims with_leading_ones(Dims dims, int rank) {
  while (dims.size() < rank) dims.insert(0, 1);
  return dims;
}

/// One shift for each axis of a tensor of this shape, from the attributes shifts and axes. Throws
/// ValueError.
Dims shifts_of_axes(const Shape& x, const Attributes& attributes);

}  // namespace tenure::ops
