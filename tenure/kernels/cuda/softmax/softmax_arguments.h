#pragma once

#include "tenure/kernels/cuda/reduce/groups_arguments.h"
#include "tenure/kernels/cuda/reduce/held_arguments.h"

namespace tenure::kernels::cuda {

/// Of softmax and log_softmax, and of their gradients.
struct SoftmaxArguments {
  MatrixView x;  ///< of the gradients dy; rows are along the axis
  MatrixView y;  ///< of the gradients alone
  MatrixView out;
  std::int64_t rows;
  std::int64_t length;
  RowForm form;
  Groups groups;
};

}  // namespace tenure::kernels::cuda
