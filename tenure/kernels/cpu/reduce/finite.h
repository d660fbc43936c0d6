#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

/// The place of the first of n contiguous elements that is NaN or infinite; -1 if none is. Of
/// integers none is.
std::int64_t find_not_finite(DType dtype, const void* elements, std::size_t n);

}  // namespace tenure::kernels
