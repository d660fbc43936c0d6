#pragma once

#include <vector>

#include "tenure/kernels/cuda/attention/attention_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"

namespace tenure::kernels::cuda {

/// Launches the kernels of tiles (tiles.cuh), if there are some that can do it: on GPUs from sm_80
/// on, for heads of few columns. `a` has all but the outputs.
bool attend_by_tiles(Gpu& gpu, const ops::Kernel& k, AttentionArguments a);
bool attention_gradient_by_tiles(Gpu& gpu, const ops::Kernel& k, AttentionArguments a);

std::vector<const TypedKernel*> kernels_of_tiles();

}  // namespace tenure::kernels::cuda
