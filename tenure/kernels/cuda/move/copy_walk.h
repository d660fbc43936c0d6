#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/move_arguments.h"

namespace tenure::kernels::cuda {

/// The loops of a copy, from the outermost to the innermost. Their order is no promise: elements
/// are copied in the order that memory likes best.
struct CopyWalk {
  struct Loop {
    std::int64_t size;
    std::int64_t from;  ///< strides, in elements
    std::int64_t to;
  };
  int rank = 0;
  Loop loops[kCopyDims];

  /// Adds a loop inside those there are. One of one step vanishes.
  void add(std::int64_t size, std::int64_t from, std::int64_t to) {
    if (size != 1) loops[rank++] = {size, from, to};
  }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= loops[d].size;
    return n;
  }
};

/// Where a copy begins.
struct CopyEnds {
  const void* from;
  DType from_type;
  void* to;
  DType to_type;
};

/// Queues a copy; elements of another type are converted. The two ends do not overlap.
void copy_over(Gpu& gpu, const char* op, CopyWalk walk, CopyEnds ends);

/// Its kernels.
std::vector<const TypedKernel*> copy_kernels();

}  // namespace tenure::kernels::cuda
