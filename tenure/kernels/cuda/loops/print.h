#pragma once

#include <span>

#include "tenure/kernels/cuda/compile/kernels.h"
#include "tenure/ops/core/loop.h"

namespace tenure::kernels::cuda {

/// Whether a loop can be printed: all its ops have bodies for the types that they compute in.
bool is_printable(const ops::Loop& loop);

/// What a loop computes on inputs of types that may be others than it computes with: a struct of
/// steps.cuh's, in namespace `printed`. It stays for the process, one for each text.
const PrintedStruct& print_struct(const ops::Loop& loop, std::span<const DType> given);

/// The kernels of a loop, loop.cu's: by vectors and by elements, in that order.
KernelCode print_loop(const ops::Loop& loop, std::span<const DType> given);

/// Of their blocks.
inline constexpr std::uint32_t kLoopThreads = 256;

}  // namespace tenure::kernels::cuda
