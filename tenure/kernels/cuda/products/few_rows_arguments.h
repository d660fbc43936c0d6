#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

inline constexpr int kFewRowsThreads = 256;

/// Of products of few rows by a matrix over a batch; strides in elements. The results lie behind
/// each other, rows of n elements.
struct FewRows {
  const float* a;
  const float* b;
  void* c;
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
  std::int32_t across;  ///< of multiply_rows: a power of two up to 32
  std::int64_t a_row;
  std::int64_t a_column;
  std::int64_t b_stride;  ///< the other one is 1
  bool a_by_vectors;      ///< whether what a thread reads at once begins at a multiple of 16 bytes
  bool b_by_vectors;
  Places batch;  ///< of a and of b
};

}  // namespace tenure::kernels::cuda
