#pragma once

#include <string>

#include "bench/contest.h"

namespace tenure::bench {

/// A product of an m x k matrix and a k x n one, or a batch of them; turned ones lie in memory
/// column by column.
struct ProductShape {
  std::int64_t m, n, k;
  bool turned_a = false;
  bool turned_b = false;
  std::int64_t batch = 1;
};

/// oneDNN called directly: a product of float32 matrices, made once, into memory that is there.
Work onednn_matmul(const ProductShape& shape);
std::string onednn_description();

}  // namespace tenure::bench
