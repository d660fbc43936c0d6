#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// What 31 bits are divided by, as a multiplication.
struct Divisor {
  std::uint32_t size;
  std::uint32_t multiplier;
  std::uint32_t shift;
};

/// A nest of at least one loop in which several operands move by strides of their own, of fewer
/// than 2^31 steps in all, as kernels get it. Loops stand from the innermost to the outermost.
template <int operands, int most_dims>
struct SmallNest {
  static constexpr int kMostDims = most_dims;

  std::uint32_t count;
  std::int32_t rank;
  Divisor sizes[most_dims];
  std::int64_t strides[most_dims][operands];  ///< in elements
};

}  // namespace tenure::kernels::cuda
