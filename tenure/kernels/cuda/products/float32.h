#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/ops/core/loop.h"

// Products of float32 by kernels of our own, where the library's take longer: those of up to some
// millions of results, which it computes with too few threads, or in two steps.

namespace tenure::kernels::cuda {

/// Whether these kernels are for products of such sizes, whatever their layout. Not where the
/// library may round to TF32.
bool is_small_float32(DType type, const ProductPlan& plan);
/// Queues one, with the loop that follows. False: its layout is one that they do not take.
bool multiply_float32(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& plan,
                      const ops::FusedNeighbours& neighbours);

/// Whether each four elements of an operand that are read at once begin at a multiple of 16 bytes.
bool is_by_fours(const View& view, std::int64_t stride, const Places& batch, int operand);

/// For the list of the family.
std::vector<const TypedKernel*> float32_kernels();

}  // namespace tenure::kernels::cuda
