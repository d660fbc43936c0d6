#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/products/plan.h"
#include "tenure/ops/core/loop.h"

// Products of float32 where one matrix has few rows, or the other few columns (few_rows.cu).

namespace tenure::kernels::cuda {

/// Queues one, with the loop that follows. False: it is none of these.
bool multiply_few_rows(Gpu& gpu, const ops::Kernel& kernel, const ProductPlan& plan,
                       const ops::FusedNeighbours& neighbours);

/// For the list of the family.
std::vector<const TypedKernel*> few_rows_kernels();

}  // namespace tenure::kernels::cuda
