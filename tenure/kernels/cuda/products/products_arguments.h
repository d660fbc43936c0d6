#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// Of products of matrices of one shape over a batch; strides in elements. Rows of the
/// results are c_row apart.
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
  std::int64_t c_row;
  Places batch;  ///< of a, b and the results
};

}  // namespace tenure::kernels::cuda
