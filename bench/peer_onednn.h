#pragma once

#include <string>

#include "bench/contest.h"
#include "tenure/tensor/dtype.h"

namespace tenure::bench {

/// A product of an m x k matrix and a k x n one, or a batch of them; turned ones lie in memory
/// column by column.
struct ProductShape {
  std::int64_t m, n, k;
  bool turned_a = false;
  bool turned_b = false;
  std::int64_t batch = 1;
  DType dtype = float32;  ///< or bfloat16, or int8 with a result of int32
};

/// oneDNN called directly: a product of matrices, made once, into memory that is there. Empty where
/// it has none of this type for the processor.
Work onednn_matmul(const ProductShape& shape);
std::string onednn_description();

}  // namespace tenure::bench
