#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/move/move_arguments.h"

namespace tenure::kernels::cuda {

/// Elements of one size, from any layout to any.
template <class T>
inline void copy_same(const CopyArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.to.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    static_cast<T*>(a.to.data)[offset_of(a.to, i)] =
        static_cast<const T*>(a.from.data)[offset_of(a.from, i)];
  }
}

/// Elements of any type become a T.
template <class T>
inline void copy_converted(const CopyArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.to.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    static_cast<T*>(a.to.data)[offset_of(a.to, i)] =
        load_as<T>(a.from.data, offset_of(a.from, i), a.from.dtype);
  }
}

}  // namespace tenure::kernels::cuda
