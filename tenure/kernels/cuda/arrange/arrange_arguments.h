#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// Of elements that go on beyond the ends of their axes.
struct PadArguments {
  const void* in;
  void* out;
  std::uint64_t n;
  std::uint64_t fill;  ///< the bytes of an element
  std::int64_t mode;   ///< PadMode as a number
  std::int64_t rank;
  std::int64_t in_shape[kMaxDims];
  std::int64_t in_strides[kMaxDims];
  std::int64_t out_shape[kMaxDims];
  std::int64_t low[kMaxDims];
};

/// Of a triangle of each matrix; what is outside of it becomes zero.
struct TriangleArguments {
  Places nest;
  const void* in;
  void* out;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t diagonal;
  std::int64_t is_upper;
};

}  // namespace tenure::kernels::cuda
