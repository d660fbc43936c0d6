#pragma once

#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/sort/scan.cuh"

// Each block has a chunk of the elements, in their order, so that the host knows from what each
// counts where the results of each begin.

namespace tenure::kernels::cuda {

template <class T>
inline void count_true(const MaskArguments& a) {
  using U = std::make_unsigned_t<T>;
  const std::int64_t n = a.places.count;
  const std::int64_t begin = blockIdx.x * a.chunk;
  const std::int64_t end = begin + a.chunk < n ? begin + a.chunk : n;
  std::uint32_t found = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    const std::int64_t at = place_of(a.places, static_cast<std::uint64_t>(i), 0);
    found += (static_cast<const U*>(a.mask)[at] & a.bits) != 0 ? 1 : 0;
  }
  std::uint32_t total = 0;
  sum_before(found, total);
  if (threadIdx.x == 0) a.answers[blockIdx.x] = total;
}

/// Calls `put(i, place, at)` for the true elements: i of all, the place of what is selected, and
/// that it is the at-th of the true ones.
template <class U, class Put>
inline void for_true(const MaskArguments& a, const Put& put) {
  const std::int64_t n = a.places.count;
  const std::int64_t begin = blockIdx.x * a.chunk;
  const std::int64_t end = begin + a.chunk < n ? begin + a.chunk : n;
  std::uint64_t before = a.before[blockIdx.x];
  for (std::int64_t from = begin; from < end; from += blockDim.x) {
    const std::int64_t i = from + threadIdx.x;
    TwoPlaces at{0, 0};
    if (i < end) at = places_of(a.places, static_cast<std::uint64_t>(i), 0, 1);
    const bool is_true = i < end && (static_cast<const U*>(a.mask)[at.first] & a.bits) != 0;
    std::uint32_t total = 0;
    const std::uint32_t earlier = sum_before(is_true ? 1 : 0, total);
    if (is_true) put(i, at.second, before + earlier);
    before += total;
  }
}

/// Elements of T where a mask of bool holds.
template <class T>
inline void select_masked(const MaskArguments& a) {
  for_true<std::uint8_t>(a, [&](std::int64_t, std::int64_t place, std::uint64_t to) {
    static_cast<T*>(a.out)[to] = static_cast<const T*>(a.in)[place];
  });
}

/// The coordinates of elements of T that are not zero.
template <class T>
inline void write_nonzero(const MaskArguments& a) {
  for_true<std::make_unsigned_t<T>>(a, [&](std::int64_t i, std::int64_t, std::uint64_t to) {
    auto* const out = static_cast<std::int64_t*>(a.out) + static_cast<std::int64_t>(to) * a.rank;
    for (int d = static_cast<int>(a.rank) - 1; d >= 0; --d) {
      out[d] = i % a.shape[d];
      i /= a.shape[d];
    }
  });
}

}  // namespace tenure::kernels::cuda
