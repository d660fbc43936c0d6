#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/random/philox.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels {

/// y = x / (1 - p) or, with probability p, zero: by one word of the stream for each element.
/// float32 or float64, contiguous; y may be x.
void dropout(DType dtype, std::int64_t n, const void* x, PhiloxStream stream, double p, void* y);

}  // namespace tenure::kernels
