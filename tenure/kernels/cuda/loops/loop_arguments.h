#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/device/view_arguments.h"

namespace tenure::kernels::cuda {

/// Places that 32 bits count, whose division takes a fraction of the time.
inline constexpr std::int64_t kMostStrided = std::int64_t{1} << 31;

/// Inputs of a loop, at most.
inline constexpr int kLoopInputs = 16;

/// Of a loop over elements that lie one after the other.
struct FlatArguments {
  std::uint64_t n;
  void* out;
  const void* in[kLoopInputs];
  std::uint64_t values[kLoopInputs];  ///< bytes of the numbers among the inputs
  std::uint32_t numbers;              ///< bit i: input i is one
};

/// Of a loop over at most kMostStrided elements of any layout; the result is contiguous.
struct StridedArguments {
  FlatArguments flat;
  std::int32_t rank;
  std::int64_t shape[kMaxDims];
  std::int64_t strides[kLoopInputs][kMaxDims];
};

}  // namespace tenure::kernels::cuda
