#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/loops/loop_arguments.h"

namespace tenure::kernels::cuda {

/// What a loop beside a kernel reads. A step of its nest is an element, of the kernel's first input
/// or of its result, in the order of a contiguous tensor.
struct NeighbourReads : LoopReads {
  /// Whether the kernel's vectors of elements lie side by side in all inputs but those that are
  /// repeated.
  bool is_by_vectors;
};

/// What a launch gives a kernel with loops beside it.
template <class Arguments>
struct WithAfter : Arguments {
  NeighbourReads after;
};
template <class Arguments>
struct WithBefore : Arguments {
  NeighbourReads before;
};
template <class Arguments>
struct WithBoth : Arguments {
  NeighbourReads before;
  NeighbourReads after;
};

}  // namespace tenure::kernels::cuda
