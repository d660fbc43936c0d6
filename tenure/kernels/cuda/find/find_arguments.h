#pragma once

#include "tenure/kernels/cuda/device/view_arguments.h"

namespace tenure::kernels::cuda {

/// Of a search for the first element that is sought.
struct FindArguments {
  DeviceView in;
  std::uint64_t* answers;  ///< of each block, the lowest place that it found, or all bits
};

/// Of a search for the range of integers.
struct IntegersArguments {
  DeviceView in;
  std::uint64_t* answers;  ///< of each block, the four numbers of an IntegerRange
};
inline constexpr int kIntegerAnswers = 4;

/// Of a search for the first element outside of a range.
struct RangeArguments {
  DeviceView in;
  double low;
  double high;
  std::uint64_t* answers;  ///< as above
};

}  // namespace tenure::kernels::cuda
