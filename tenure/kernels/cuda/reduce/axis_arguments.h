#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"

namespace tenure::kernels::cuda {

/// A tensor as columns along one axis: where each of them begins, and how far its elements are
/// apart.
struct AxisView {
  void* data;
  Walk columns;
  std::int64_t step;
};

}  // namespace tenure::kernels::cuda
