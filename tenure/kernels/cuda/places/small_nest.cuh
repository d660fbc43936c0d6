#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/places/small_nest_arguments.h"

namespace tenure::kernels::cuda {

inline std::uint32_t quotient(std::uint32_t i, const Divisor& by) {
  return (__umulhi(i, by.multiplier) + i) >> by.shift;
}

/// Where the first `n` operands are in several steps of a nest, which need not be among those that
/// it has.
template <int n, int steps, class Nest>
inline void places_of(const Nest& nest, std::uint32_t (&step)[steps],
                      std::int64_t (&at)[steps][n]) {
#pragma unroll
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < n; ++i) at[s][i] = 0;
  }
  const int last = nest.rank - 1;
  for (int d = 0; d < last; ++d) {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const std::uint32_t outer = quotient(step[s], nest.sizes[d]);
      const std::uint32_t inner = step[s] - outer * nest.sizes[d].size;
#pragma unroll
      for (int i = 0; i < n; ++i) at[s][i] += inner * nest.strides[d][i];
      step[s] = outer;
    }
  }
#pragma unroll
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < n; ++i) at[s][i] += step[s] * nest.strides[last][i];
  }
}

}  // namespace tenure::kernels::cuda
