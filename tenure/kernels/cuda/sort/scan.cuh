#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

namespace tenure::kernels::cuda {

inline constexpr unsigned kScanThreads = 256;  ///< at most, of a block that scans

/// The sum of the values of all threads of the block before this one. All threads call it.
inline std::uint32_t sum_before(std::uint32_t value, std::uint32_t& total) {
  __shared__ std::uint32_t sums[kScanThreads];
  const unsigned thread = threadIdx.x;
  sums[thread] = value;
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    const std::uint32_t more = thread >= step ? sums[thread - step] : 0;
    __syncthreads();
    sums[thread] += more;
    __syncthreads();
  }
  const std::uint32_t before = sums[thread] - value;
  total = sums[blockDim.x - 1];
  __syncthreads();
  return before;
}

}  // namespace tenure::kernels::cuda
