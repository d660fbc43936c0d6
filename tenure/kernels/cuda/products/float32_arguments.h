#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// Of products of float32 over a batch; strides in elements. One stride of each operand is 1. The
/// results lie behind each other, rows of n elements.
struct Float32Product {
  const float* a;
  const float* b;
  float* c;
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
  std::int32_t part;      ///< of k, for each block of a cluster
  std::int64_t a_stride;  ///< the other one
  std::int64_t b_stride;
  bool a_by_vectors;  ///< all that a thread copies at once begins at a multiple of 16 bytes
  bool b_by_vectors;
  bool c_by_vectors;
  Places batch;  ///< of a and of b
};

}  // namespace tenure::kernels::cuda
