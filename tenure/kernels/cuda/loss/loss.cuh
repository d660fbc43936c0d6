#pragma once

#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

inline constexpr Groups kWholeBlock{kGroupThreads, 0};

/// What threads of a block have of the sum of all losses.
template <class T>
inline void add_up(const LossSum& to, LossPart own) {
  const Pair<double> all = sum_of_lanes(Pair<double>{own.loss, own.rows}, kWholeBlock);
  if (threadIdx.x != 0) return;
  if (to.parts != nullptr) {
    to.parts[blockIdx.x] = {all.first, all.second};
  } else {
    const double scale = to.counts != 0 ? scale_of(all.second) : to.scale;
    *static_cast<T*>(to.out) = convert<T>(all.first * scale);
  }
}

/// One block.
template <class T>
inline void sum_loss_parts(const LossPartsArguments& a) {
  LossPart own{0, 0};
  for (std::int64_t i = threadIdx.x; i < a.n; i += kGroupThreads) {
    const LossPart part = a.parts[i];
    own.loss += part.loss;
    own.rows += part.rows;
  }
  add_up<T>(a.sum, own);
}

}  // namespace tenure::kernels::cuda
