#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// A nest of loops in which several operands move by strides of their own, as kernels get it.
struct Places {
  static constexpr int kMostDims = 16;  ///< a tiled tensor has two for each of its dimensions
  static constexpr int kMostOperands = 10;

  std::int32_t rank;
  std::int32_t operands;
  std::int64_t count;
  std::int64_t shape[kMostDims];
  std::int64_t strides[kMostOperands][kMostDims];  ///< in elements
};

}  // namespace tenure::kernels::cuda
