#pragma once

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

/// Whether a loop can be printed: all its ops have bodies for the types that they compute in.
bool is_printable(const ops::Loop& loop);

/// The kernels of a loop, loop.cu's: the flat one and the strided one, in that order.
KernelCode print_loop(const ops::Loop& loop);

/// Of their blocks.
inline constexpr std::uint32_t kLoopThreads = 256;

}  // namespace tenure::kernels::cuda
