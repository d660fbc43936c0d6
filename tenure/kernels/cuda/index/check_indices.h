#pragma once

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/kernels/view.h"
#include "tenure/ops/core/record.h"
#include "tenure/ops/creation/attributes.h"

namespace tenure::kernels::cuda {

class Gpu;

/// Throws IndexError, in the name of the call's op, unless every index lies in [-size, size). Waits
/// for the GPU unless that is known. In check_indices.cpp.
void check_indices(Gpu& gpu, const ops::Kernel& call, const View& indices, std::int64_t size);

/// An element by its number in the order of rows. Waits for the GPU. In check_indices.cpp.
ops::ElementBytes read_element(Gpu& gpu, const View& view, std::int64_t number);

/// The kernel of check_indices(), for the list of a family.
const TypedKernel& index_check_kernel();

}  // namespace tenure::kernels::cuda
