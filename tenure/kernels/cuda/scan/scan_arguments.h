#pragma once

#include "tenure/kernels/cuda/reduce/axis_arguments.h"

namespace tenure::kernels::cuda {

/// Of running sums and their like. A long column is cut into chunks, one for each blockIdx.y: a
/// first launch finds what each comes to, a second one begins with what came before.
struct ScanArguments {
  AxisView in;
  AxisView out;
  std::int64_t length;
  std::int64_t columns;
  std::int64_t chunk;
  std::int64_t chunks;
  void* totals;                ///< of each column, of each chunk; none: there is one chunk
  std::int32_t writes_totals;  ///< the first launch
  Groups groups;
};

inline constexpr int kTotalBytes = 16;
/// Elements that lie behind each other, which a thread has at a time.
inline constexpr int kScanItems = 4;

}  // namespace tenure::kernels::cuda
