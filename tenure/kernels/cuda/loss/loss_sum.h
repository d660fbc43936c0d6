#pragma once

#include <algorithm>
#include <cstdint>

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
      .scale = scale};
}

}  // namespace tenure::kernels::cuda
