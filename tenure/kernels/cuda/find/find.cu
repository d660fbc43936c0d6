#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/find/find.cuh"
#include "tenure/kernels/cuda/find/find_arguments.h"
#include "tenure/tensor/integer_range.h"

namespace tenure::kernels::cuda {

template <class T>
inline void find_not_finite(const FindArguments& a) {
  find_first<T>(a, [](T value) { return !isfinite(static_cast<Compute<T>>(value)); });
}
template <class T>
inline void find_zero(const FindArguments& a) {
  find_first<T>(a, [](T value) { return value == T(0); });
}
template <class T>
inline void find_negative(const FindArguments& a) {
  find_first<T>(a, [](T value) { return value < T(0); });
}
template <class T>
inline void find_beyond(const RangeArguments& a) {
  find_first<T>(a, [&](T value) {
    const auto number = convert<double>(value);
    return !(number >= a.low && number <= a.high);
  });
}

/// Of blocks of at most 256 threads.
template <class T>
inline void find_range(const IntegersArguments& a) {
  IntegerRange own = IntegerRange::none();
  const auto n = static_cast<std::uint64_t>(a.in.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    own.add(static_cast<std::int64_t>(static_cast<const T*>(a.in.data)[offset_of(a.in, i)]));
  }
  __shared__ IntegerRange ranges[256];
  ranges[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) ranges[threadIdx.x].join(ranges[threadIdx.x + half]);
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  std::uint64_t* const answers = a.answers + kIntegerAnswers * blockIdx.x;
  answers[0] = static_cast<std::uint64_t>(ranges[0].lowest);
  answers[1] = static_cast<std::uint64_t>(ranges[0].highest);
  answers[2] = static_cast<std::uint64_t>(ranges[0].next_lowest);
  answers[3] = static_cast<std::uint64_t>(ranges[0].next_highest);
}

}  // namespace tenure::kernels::cuda
