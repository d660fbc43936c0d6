#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/device/turns_arguments.h"
#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// How many of the blocks that share something are done, in each turn (Gpu::in_turn). Zero between
/// the launches of a turn.
__device__ static unsigned done_blocks[kTurns][kMostSharing];

/// Whether this block is the last one that comes here of the `blocks` that share thing `shared`:
/// then it can read what the others wrote before. Which one that is must not show. All threads of
/// a block take part.
inline bool is_last_block(unsigned turn, unsigned shared, unsigned blocks) {
  __shared__ bool is_last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    unsigned& done = done_blocks[turn][shared];
    is_last = atomicAdd(&done, 1u) == blocks - 1;
    if (is_last) done = 0;
  }
  __syncthreads();
  if (is_last) __threadfence();
  return is_last;
}

}  // namespace tenure::kernels::cuda
