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

template <class T>
inline void linspace(const LinspaceArguments& a) {
  for (std::uint64_t place = thread_index(); place < a.n; place += thread_count()) {
    const double value =
        a.spacing.at(static_cast<std::int64_t>(place), static_cast<std::int64_t>(a.n));
    static_cast<T*>(a.out)[place] = convert<T>(std::is_integral_v<T> ? floor(value) : value);
  }
}

template <class T>
inline void eye(const EyeArguments& a) {
  for (std::uint64_t i = thread_index(); i < a.n; i += thread_count()) {
    const std::int64_t row = static_cast<std::int64_t>(i) / a.columns;
    const std::int64_t column = static_cast<std::int64_t>(i) % a.columns;
    static_cast<T*>(a.out)[i] = column - row == a.diagonal ? static_cast<T>(a.bytes) : T(0);
  }
}

template <class T>
inline void one_hot(const OneHotArguments& a) {
  for (std::uint64_t i = thread_index(); i < a.n; i += thread_count()) {
    const auto depth = static_cast<std::uint64_t>(a.depth);
    const std::int64_t at = offset_of(a.indices, i / depth);
    std::int64_t index = a.is_wide != 0 ? static_cast<const std::int64_t*>(a.indices.data)[at]
                                        : static_cast<const std::int32_t*>(a.indices.data)[at];
    if (index < 0) index += a.depth;
    const bool is_one = static_cast<std::uint64_t>(index) == i % depth;
    static_cast<T*>(a.out)[i] = is_one ? static_cast<T>(a.bytes) : T(0);
  }
}

}  // namespace tenure::kernels::cuda
