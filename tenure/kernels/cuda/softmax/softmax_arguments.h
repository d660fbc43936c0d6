#pragma once

#include "tenure/kernels/cuda/reduce/axis_arguments.h"

namespace tenure::kernels::cuda {

/// Of softmax and log_softmax, and of their gradients.
struct SoftmaxArguments {
  AxisView x;  ///< of the gradients dy
  AxisView y;  ///< of the gradients alone
  AxisView out;
  std::int64_t length;
  std::int64_t columns;
  Groups groups;
};

}  // namespace tenure::kernels::cuda
