#pragma once

#include <cstdint>

#include "tenure/tensor/dtype.h"

// What the random ops take. Parameters out of their domain throw ValueError, types DTypeError.

namespace tenure::ops {

void check_uniform(DType dtype, double low, double high);
void check_normal(DType dtype, double deviation);
void check_bernoulli(double p);
void check_randint(DType dtype, std::int64_t low, std::int64_t high);
/// Of the integers [0, n).
void check_permutation(DType dtype, std::int64_t n);

}  // namespace tenure::ops
