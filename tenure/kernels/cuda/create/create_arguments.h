#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/ops/creation/spacing.h"

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

/// Of numbers evenly spaced.
struct LinspaceArguments {
  void* out;
  std::uint64_t n;
  ops::Spacing spacing;
};

/// Of a one, by its bytes, on a diagonal of a matrix.
struct EyeArguments {
  void* out;
  std::uint64_t n;
  std::int64_t columns;
  std::int64_t diagonal;
  std::uint64_t bytes;
};

/// Of a one, by its bytes, at each index.
struct OneHotArguments {
  DeviceView indices;
  std::int64_t is_wide;  ///< they are int64, not int32
  std::int64_t depth;
  void* out;
  std::uint64_t n;
  std::uint64_t bytes;
};

}  // namespace tenure::kernels::cuda
