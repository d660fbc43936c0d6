#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/ops/core/record.h"

namespace tenure::kernels::cuda {

inline ClassesView classes_view(const View& targets) {
  return {.view = flat_view(targets), .is_wide = targets.dtype == DType::int64 ? 1 : 0};
}

/// Throws IndexError, in the name of the call's op, for a row that has no class and is not ignored.
/// Waits for the GPU unless there is known to be none. In check_classes.cpp.
void check_classes(Gpu& gpu, const ops::Kernel& call, const View& targets, std::int64_t classes,
                   std::int64_t ignore_index);

/// The kernel of check_classes(), for the list of a family.
const TypedKernel& class_check_kernel();

}  // namespace tenure::kernels::cuda
