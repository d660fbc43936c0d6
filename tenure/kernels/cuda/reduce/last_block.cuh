#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// How many of the blocks that share something are done. Zero between launches, of which no two run
/// at the same time: a GPU has one queue.
__device__ static unsigned done_blocks[kMostSharing];

/// Whether this block is the last one that comes here of the `blocks` that share thing `shared`:
/// then it can read what the others wrote before. Which one that is must not show. All threads of
/// a block take part.
inline bool is_last_block(unsigned shared, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned& done = done_blocks[shared];
    is_last = atomicAdd(&done, 1u) == blocks - 1;
    if (is_last) done = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace tenure::kernels::cuda
