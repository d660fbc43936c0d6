#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/places/small_nest_arguments.h"

namespace tenure::kernels::cuda {

inline std::uint32_t quotient(std::uint32_t i, const Divisor& by) {
  return (__umulhi(i, by.multiplier) + i) >> by.shift;
}

/// Steps of a nest on their way to where `n` operands are in them.
template <int n, int steps>
struct StepPlaces {
  std::uint32_t step[steps];  ///< of the loops that are not done yet
  std::int64_t at[steps][n];

  /// The innermost loop of those is loop d.
  template <class Nest>
  void split(const Nest& nest, int d) {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
      const std::uint32_t outer = quotient(step[s], nest.sizes[d]);
      const std::uint32_t inner = step[s] - outer * nest.sizes[d].size;
#pragma unroll
      for (int i = 0; i < n; ++i) at[s][i] += inner * nest.strides[d][i];
      step[s] = outer;
    }
  }
  /// Loop d is the only one of those.
  template <class Nest>
  void end(const Nest& nest, int d) {
#pragma unroll
    for (int s = 0; s < steps; ++s) {
#pragma unroll
      for (int i = 0; i < n; ++i) at[s][i] += step[s] * nest.strides[d][i];
    }
  }
};

/// Where the first `n` operands are in steps of a nest, which need not be among those that it has.
/// One loop and two have their numbers at fixed places, which are read sooner.
template <int n, int steps, class Nest>
inline void places_of(const Nest& nest, const std::uint32_t (&step)[steps],
                      std::int64_t (&at)[steps][n]) {
  StepPlaces<n, steps> places{};
#pragma unroll
  for (int s = 0; s < steps; ++s) places.step[s] = step[s];
  if (nest.rank == 1) {
    places.end(nest, 0);
  } else {
    places.split(nest, 0);
    if (nest.rank == 2) {
      places.end(nest, 1);
    } else {
      const int last = nest.rank - 1;
#pragma unroll 1
      for (int d = 1; d < last; ++d) places.split(nest, d);
      places.end(nest, last);
    }
  }
#pragma unroll
  for (int s = 0; s < steps; ++s) {
#pragma unroll
    for (int i = 0; i < n; ++i) at[s][i] = places.at[s][i];
  }
}

/// Where the only operand is, in few instructions.
template <class Nest>
inline std::int64_t place_of_step(const Nest& nest, std::uint32_t step) {
  std::int64_t at = 0;
  const int last = nest.rank - 1;
#pragma unroll 1
  for (int d = 0; d < last; ++d) {
    const std::uint32_t outer = quotient(step, nest.sizes[d]);
    at += (step - outer * nest.sizes[d].size) * nest.strides[d][0];
    step = outer;
  }
  return at + step * nest.strides[last][0];
}

}  // namespace tenure::kernels::cuda
