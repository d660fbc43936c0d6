#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

namespace tenure::kernels::cuda {

/// Of blocks of at most 256 threads: each answers with the first place of an element of `a.in` that
/// is sought, as far as it looks; all bits are none.
template <class T, class Arguments, class Sought>
inline void find_first(const Arguments& a, Sought is_sought) {
  constexpr std::uint64_t kNone = ~std::uint64_t{0};
  std::uint64_t found = kNone;
  const auto n = static_cast<std::uint64_t>(a.in.count);
  for (std::uint64_t i = thread_index(); i < n && found == kNone; i += thread_count()) {
    if (is_sought(static_cast<const T*>(a.in.data)[offset_of(a.in, i)])) found = i;
  }
  __shared__ std::uint64_t lowest[256];
  lowest[threadIdx.x] = found;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half && lowest[threadIdx.x + half] < lowest[threadIdx.x]) {
      lowest[threadIdx.x] = lowest[threadIdx.x + half];
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) a.answers[blockIdx.x] = lowest[0];
}

}  // namespace tenure::kernels::cuda
