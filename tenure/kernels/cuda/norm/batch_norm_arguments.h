#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

inline constexpr unsigned kBatchThreads = 256;
/// Threads that are side by side along a row, at most.
inline constexpr unsigned kBatchLanes = 32;

/// Sums over the rows of x, of differences from its first row, and of their squares.
inline constexpr int kBatchSums = 2;
/// The same with those of dy, and of dy times the differences.
inline constexpr int kBatchGradientSums = 4;
/// Numbers for each column that say what is made of its elements, at most.
inline constexpr int kBatchFactors = 4;
inline constexpr int kBatchGradientFactors = 5;
/// Columns of a block that joins sums.
inline constexpr int kJoinedColumns = 8;

/// Of norms along columns (batches), and their gradients; matrices are contiguous.
struct BatchNormArguments {
  const void* x;
  const void* dy;  ///< of gradients
  void* out;
  const void* weight;
  const void* bias;  ///< forward
  void* first;       ///< forward the means; of gradients, by weight
  void* second;      ///< the variances; by bias
  double* partials;  ///< of each chunk, each sum, each column
  void* factors;     ///< of each number, each column
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t chunks;  ///< blocks that share the rows of a column for sums
  double epsilon;
  std::uint32_t lanes;   ///< threads of a block along a row: a power of two
  std::int32_t packed;   ///< a thread has 16 bytes of a row, not one element
  std::int32_t aligned;  ///< those bytes are read and written at once
};

}  // namespace tenure::kernels::cuda
