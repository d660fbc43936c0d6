#pragma once

#include <algorithm>
#include <bit>

#include "tenure/kernels/cuda/places/small_nest_arguments.h"

namespace tenure::kernels::cuda {

/// Steps of a nest, at most.
inline constexpr std::int64_t kMostSmallSteps = (std::int64_t{1} << 31) - 1;

/// For dividends below 2^31, by Granlund and Montgomery: the multiplier is 2^32 less than the one
/// of 33 bits that makes a quotient exact.
inline Divisor divisor_of(std::int64_t size) {
  const auto by = static_cast<std::uint64_t>(size);
  const auto shift = static_cast<std::uint32_t>(std::bit_width(by - 1));
  const std::uint64_t excess = (std::uint64_t{1} << shift) - by;
  return {.size = static_cast<std::uint32_t>(by),
          .multiplier = static_cast<std::uint32_t>((excess << 32) / by + 1),
          .shift = shift};
}

/// Begins a nest with its innermost loop, which may have no steps; `strides` has a number for each
/// of `n` operands.
template <class Nest>
void begin_nest(Nest& nest, std::int64_t size, const std::int64_t* strides, int n) {
  nest.count = static_cast<std::uint32_t>(size);
  nest.rank = 1;
  nest.sizes[0] = divisor_of(std::max<std::int64_t>(size, 1));
  for (int i = 0; i < n; ++i) nest.strides[0][i] = strides[i];
}
/// Adds a loop around those there are.
template <class Nest>
void add_outer_loop(Nest& nest, std::int64_t size, const std::int64_t* strides, int n) {
  nest.count *= static_cast<std::uint32_t>(size);
  nest.sizes[nest.rank] = divisor_of(size);
  for (int i = 0; i < n; ++i) nest.strides[nest.rank][i] = strides[i];
  ++nest.rank;
}

}  // namespace tenure::kernels::cuda
