#pragma once

#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"
#include "tenure/kernels/cuda/reduce/last_block.cuh"

namespace tenure::kernels::cuda {

inline constexpr Groups kWholeBlock{kGroupThreads, 0};

inline Pair<double> sum_of_block(const LossPart& own) {
  return sum_of_lanes(Pair<double>{own.loss, own.rows}, kWholeBlock);
}

/// What threads of a block have of the sum of all losses.
template <class T>
inline void add_up(const LossSum& to, LossPart own) {
  Pair<double> all = sum_of_block(own);
  if (to.parts != nullptr) {
    if (threadIdx.x == 0) to.parts[blockIdx.x] = {all.first, all.second};
    if (!is_last_block(0, gridDim.x)) return;
    own = {0, 0};
    for (unsigned i = threadIdx.x; i < gridDim.x; i += kGroupThreads) {
      own.loss += to.parts[i].loss;
      own.rows += to.parts[i].rows;
    }
    all = sum_of_block(own);
  }
  if (threadIdx.x != 0) return;
  const double scale = to.counts != 0 ? scale_of(all.second) : to.scale;
  *static_cast<T*>(to.out) = convert<T>(all.first * scale);
}

}  // namespace tenure::kernels::cuda
