#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// Of a fill with one element, by its bytes.
struct FillArguments {
  void* out;
  std::uint64_t n;
  std::uint64_t bytes;
};

/// Of start + i * step, in integers or in double.
struct ArangeArguments {
  void* out;
  std::uint64_t n;
  std::int64_t integers;  ///< 0: in double
  std::int64_t start;
  std::int64_t step;
  double double_start;
  double double_step;
};

}  // namespace tenure::kernels::cuda
