#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/ops/core/backend.h"

namespace tenure::kernels::cuda {

/// Adds up what `parts` parts of a gradient's sums have for each column, by weight and by bias: into
/// outputs 1 and 2, if there is one. In norm_slots.cpp.
void launch_norm_sums(Gpu& gpu, const ops::Kernel& k, const void* partials, std::int64_t parts,
                      std::int64_t columns);

}  // namespace tenure::kernels::cuda
