#pragma once

#include <cstddef>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

/// Converts n contiguous elements. Floats round once, to nearest; to integers they lose their
/// fraction, saturate at the ends and NaN becomes 0; integers wrap; anything but 0 is true.
void cast_elements(DType from, const void* in, DType to, void* out, std::size_t n);

}  // namespace tenure::kernels
