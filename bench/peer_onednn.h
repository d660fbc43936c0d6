#pragma once

#include <string>

#include "bench/contest.h"

namespace tenure::bench {

/// oneDNN called directly: a product of float32 matrices, made once, into memory that is there.
Work onednn_matmul(std::int64_t m, std::int64_t n, std::int64_t k);
std::string onednn_description();

}  // namespace tenure::bench
