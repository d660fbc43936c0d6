#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/device/view_arguments.h"
#include "tenure/kernels/cuda/places/small_nest_arguments.h"

namespace tenure::kernels::cuda {

/// Inputs of a loop, at most.
inline constexpr int kLoopInputs = 16;

/// What a loop reads, and where it is in each step.
struct LoopReads {
  std::uint32_t numbers;   ///< bit i: input i is a number
  std::uint32_t repeated;  ///< bit i: it is a number, or one element for all of a vector
  const void* in[kLoopInputs];
  SmallNest<kLoopInputs, kMaxDims> nest;
  std::uint64_t values[kLoopInputs];  ///< bytes of the numbers among the inputs
};

/// Of a loop, whose result is contiguous. A step of its nest is an element, or a vector of elements
/// that lie side by side in the result and, but for those that are repeated, in each input.
struct LoopArguments : LoopReads {
  void* out;
  std::uint32_t rest;  ///< elements after the last vector; of one dimension alone
};

}  // namespace tenure::kernels::cuda
