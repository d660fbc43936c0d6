#pragma once

#include <algorithm>
#include <cstdint>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/nn/loss.h"

// Sums of losses, of which blocks have a part each.

namespace tenure::kernels::cuda {

inline bool reduces(const ops::Kernel& k) {
  return ops::reduction_of(k.attributes) != Reduction::none;
}
inline std::size_t parts_bytes(std::int64_t blocks) {
  return blocks == 1 ? 0 : static_cast<std::size_t>(blocks) * sizeof(LossPart);
}
/// Of output 0: the losses of elements, or their sum of which each block has a part.
inline LossSum sum_of(const ops::Kernel& k, bool is_reduced, double scale, std::int64_t blocks) {
  return {
      .out = k.out[0].data,
      .parts = is_reduced && blocks > 1 ? reinterpret_cast<LossPart*>(k.workspace.data()) : nullptr,
      .reduces = is_reduced ? 1 : 0,
      .counts = 0,
      .scale = scale,
      .turn = 0};
}
/// Queues a kernel whose arguments have that.
template <class Arguments>
void launch_summing(Gpu& gpu, const ops::Kernel& k, const TypedKernel& kernel, const Grid& grid,
                    Arguments arguments) {
  const auto give = [&](unsigned turn) {
    arguments.sum.turn = turn;
    gpu.launch(k.op, kernel, k.in[0].dtype, grid, arguments);
  };
  arguments.sum.parts == nullptr ? give(0) : gpu.in_turn(give);
}

}  // namespace tenure::kernels::cuda
