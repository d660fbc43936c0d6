#pragma once

#include <cstdint>

#include "tenure/ops/core/loop.h"

namespace tenure::kernels {

// Note: loops that follow a kernel
//
// A product or a convolution hands its results to the loop that follows as soon as some rows of
// them are complete, while a cache has them, and the loop writes its own results there. Results
// that the caches keep anyway until the kernel ends gain nothing by that.

/// The loop that follows a kernel, on elements [begin, end) of its contiguous result, in place.
/// By one thread, or by several.
void run_after_here(const ops::FusedNeighbours& after, std::int64_t begin, std::int64_t end);
void run_after(const ops::FusedNeighbours& after, std::int64_t begin, std::int64_t end);
/// On all of it.
void run_after(const ops::FusedNeighbours& after);

}  // namespace tenure::kernels
