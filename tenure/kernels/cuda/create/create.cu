#pragma once

#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/device/prelude.cuh"

namespace tenure::kernels::cuda {

template <class T>
inline void fill(const FillArguments& a) {
  for (std::uint64_t i = thread_index(); i < a.n; i += thread_count()) {
    static_cast<T*>(a.out)[i] = static_cast<T>(a.bytes);
  }
}

template <class T>
inline void arange(const ArangeArguments& a) {
  for (std::uint64_t i = thread_index(); i < a.n; i += thread_count()) {
    T& out = static_cast<T*>(a.out)[i];
    if (a.integers != 0) {
      const auto wraps =
          static_cast<std::uint64_t>(a.start) + i * static_cast<std::uint64_t>(a.step);
      out = convert<T>(static_cast<std::int64_t>(wraps));
    } else {
      out = convert<T>(a.double_start + static_cast<double>(i) * a.double_step);
    }
  }
}

}  // namespace tenure::kernels::cuda
