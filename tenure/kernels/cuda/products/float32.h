#pragma once

#include <optional>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/ops/core/loop.h"

// Products of float32 by a kernel of our own (float32.cu), where the library's take longer.

namespace tenure::kernels::cuda {

/// Whether this kernel is for products of such sizes, whatever their layout. Not where the library
/// may round to TF32.
bool is_for_tiles(DType type, const ProductPlan& plan);
/// Queues one. False: it does not take that layout.
bool multiply_by_tiles(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& plan,
                       const ops::FusedNeighbours& neighbours);

/// For the list of the family.
std::vector<const TypedKernel*> tile_kernels();

}  // namespace tenure::kernels::cuda
