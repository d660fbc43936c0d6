#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// Of products of matrices of one shape over a batch; strides in elements. The results lie behind
/// each other, rows of n elements.
struct ProductArguments {
  const void* a;
  const void* b;
  void* c;
  std::int64_t m;
  std::int64_t n;
  std::int64_t k;
  std::int64_t a_row;
  std::int64_t a_column;
  std::int64_t b_row;
  std::int64_t b_column;
  Places batch;  ///< of a and of b
};

}  // namespace tenure::kernels::cuda
