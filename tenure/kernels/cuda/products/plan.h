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
  std::int64_t c_row = 0;  ///< of the results, whose columns lie behind each other
  Places batch{};          ///< of a, b and the results
  /// It is the transpose that is computed: a is the second operand, b the first.
  bool is_turned = false;

  std::int64_t results() const { return m * n * batch.count; }
};

/// Of a product of matrices over leading dimensions that broadcast. Leading dimensions of `a` that
/// are rows of one tall matrix count as that. In plan.cpp.
ProductPlan product_plan(const View& a, const View& b);
/// The same with results that lie as `c` says, whose rows or columns lie behind each other.
ProductPlan product_plan(const View& a, const View& b, const View& c);

}  // namespace tenure::kernels::cuda
