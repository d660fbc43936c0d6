#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/find/find.cuh"
#include "tenure/kernels/cuda/find/find_arguments.h"

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

}  // namespace tenure::kernels::cuda
