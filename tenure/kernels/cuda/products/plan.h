#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"
#include "tenure/kernels/view.h"

namespace tenure::kernels::cuda {

/// Products of matrices of one shape; strides in elements.
struct ProductPlan {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row = 0;
  std::int64_t a_column = 0;
  std::int64_t b_row = 0;
  std::int64_t b_column = 0;
  Places batch{};  ///< of a, b and the results

  std::int64_t results() const { return m * n * batch.count; }
};

/// Of a product of matrices over leading dimensions that broadcast. Leading dimensions of `a` that
/// are rows of one tall matrix count as that. In plan.cpp.
ProductPlan product_plan(const View& a, const View& b);

}  // namespace tenure::kernels::cuda
