#pragma once

#include "tenure/kernels/cuda/arrange/arrange_arguments.h"
#include "tenure/kernels/cuda/places/places.cuh"

namespace tenure::kernels::cuda {

inline std::int64_t floor_mod(std::int64_t i, std::int64_t n) {
  const std::int64_t rest = i % n;
  return rest < 0 ? rest + n : rest;
}

/// The element of an axis of size n that stands at place i of its extension, or -1.
inline std::int64_t pad_source(int mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case 1:  // edge
      return i < 0 ? 0 : n - 1;
    case 2:  // reflect
      if (n == 1) return 0;
      i = floor_mod(i, 2 * (n - 1));
      return i < n ? i : 2 * (n - 1) - i;
    case 3:  // symmetric
      i = floor_mod(i, 2 * n);
      return i < n ? i : 2 * n - 1 - i;
    case 4:  // wrap
      return floor_mod(i, n);
    default:
      return -1;
  }
}

// What an Index counts: divisions of 64 bits take several times as long as those of 32.

template <class T, class Index>
inline void pad_with(const PadArguments& a) {
  for (std::uint64_t i = thread_index(); i < a.n; i += thread_count()) {
    auto rest = static_cast<Index>(i);
    std::int64_t offset = 0;
    bool is_inside = true;
#pragma unroll 1
    for (int d = static_cast<int>(a.rank) - 1; d >= 0; --d) {
      const auto size = static_cast<Index>(a.out_shape[d]);
      const Index row = rest / size;
      const std::int64_t at =
          pad_source(static_cast<int>(a.mode),
                     static_cast<std::int64_t>(rest - row * size) - a.low[d], a.in_shape[d]);
      is_inside = is_inside && at >= 0;
      offset += at * a.in_strides[d];
      rest = row;
    }
    static_cast<T*>(a.out)[i] =
        is_inside ? static_cast<const T*>(a.in)[offset] : static_cast<T>(a.fill);
  }
}

template <class T>
inline void pad(const PadArguments& a) {
  if (a.n <= 0xffffffffull) {
    pad_with<T, std::uint32_t>(a);
  } else {
    pad_with<T, std::uint64_t>(a);
  }
}

template <class T, class Index>
inline void triangle_with(const TriangleArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.nest.count);
  const auto columns = static_cast<Index>(a.columns);
  const auto rows = static_cast<Index>(a.rows);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const Index line = static_cast<Index>(i) / columns;
    const auto column = static_cast<std::int64_t>(static_cast<Index>(i) - line * columns);
    const auto end = static_cast<std::int64_t>(line % rows) + a.diagonal;
    const bool is_kept = a.is_upper != 0 ? column >= end : column <= end;
    static_cast<T*>(a.out)[i] =
        is_kept ? static_cast<const T*>(a.in)[place_of(a.nest, i, 0)] : T(0);
  }
}
template <class T>
inline void triangle(const TriangleArguments& a) {
  if (a.nest.count <= 0xffffffffll) {
    triangle_with<T, std::uint32_t>(a);
  } else {
    triangle_with<T, std::uint64_t>(a);
  }
}

}  // namespace tenure::kernels::cuda
