#pragma once

namespace tenure::kernels::cuda {

/// Neighbours in memory that are read and written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Elements {
  T of[n];
};

}  // namespace tenure::kernels::cuda
