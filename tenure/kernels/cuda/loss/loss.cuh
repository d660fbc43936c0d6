#pragma once

#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

inline constexpr Groups kWholeBlock{kGroupThreads, 0};

/// What threads of a block have of the sum of all losses.
template <class T>
inline void add_up(const LossSum& to, double own) {
  const double all = sum_of_lanes(own, kWholeBlock);
  if (threadIdx.x != 0) return;
  if (to.parts != nullptr) {
    to.parts[blockIdx.x] = all;
  } else {
    *static_cast<T*>(to.out) = convert<T>(all * to.scale);
  }
}

/// One block.
template <class T>
inline void sum_loss_parts(const LossPartsArguments& a) {
  double own = 0;
  for (std::int64_t i = threadIdx.x; i < a.n; i += kGroupThreads) own += a.parts[i];
  add_up<T>(a.sum, own);
}

inline std::int64_t class_at(const ClassesView& targets, std::int64_t row) {
  return load_as<std::int64_t>(targets.view.data, offset_in(targets.view.walk, row), targets.dtype);
}

}  // namespace tenure::kernels::cuda
