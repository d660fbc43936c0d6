#pragma once

#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"
#include "tenure/kernels/cuda/reduce/last_block.cuh"

namespace tenure::kernels::cuda {

inline constexpr Groups kWholeBlock{kGroupThreads, 0};

inline Pair<double> sum_of_block(const LossPart& own) {
  return sum_of_lanes(Pair<double>{own.loss, own.rows}, kWholeBlock);
}

/// What threads of a block have of the sum of all losses; `sum(part)` adds the parts of a block.
template <class T, unsigned threads, class Sum>
inline void add_up(const LossSum& to, LossPart own, Sum sum) {
  Pair<double> all = sum(own);
  if (to.parts != nullptr) {
    if (threadIdx.x == 0) to.parts[blockIdx.x] = {all.first, all.second};
    if (!is_last_block(0, gridDim.x)) return;
    own = {0, 0};
    for (unsigned i = threadIdx.x; i < gridDim.x; i += threads) {
      own.loss += to.parts[i].loss;
      own.rows += to.parts[i].rows;
    }
    all = sum(own);
  }
  if (threadIdx.x != 0) return;
  const double scale = to.counts != 0 ? scale_of(all.second) : to.scale;
  *static_cast<T*>(to.out) = convert<T>(all.first * scale);
}

/// The same of a block of kGroupThreads.
template <class T>
inline void add_up(const LossSum& to, const LossPart& own) {
  add_up<T, kGroupThreads>(to, own, [](const LossPart& part) { return sum_of_block(part); });
}

}  // namespace tenure::kernels::cuda
