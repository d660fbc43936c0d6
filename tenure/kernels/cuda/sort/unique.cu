#pragma once

#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/sort/keys.cuh"
#include "tenure/kernels/cuda/sort/scan.cuh"

namespace tenure::kernels::cuda {

/// Whether the element at i of sorted ones differs from the one before it.
template <class U>
inline bool is_new(const UniqueArguments& a, std::int64_t i) {
  const U* const sorted = static_cast<const U*>(a.sorted);
  return i == 0 || key_of(a.rule, sorted[i]) != key_of(a.rule, sorted[i - 1]);
}

/// How many different elements begin in the chunk of each block.
template <class T>
inline void unique_count(const UniqueArguments& a) {
  using U = std::make_unsigned_t<T>;
  const std::int64_t begin = blockIdx.x * a.chunk;
  const std::int64_t end = begin + a.chunk < a.n ? begin + a.chunk : a.n;
  std::uint32_t found = 0;
  for (std::int64_t i = begin + threadIdx.x; i < end; i += blockDim.x) {
    found += is_new<U>(a, i) ? 1 : 0;
  }
  std::uint32_t total = 0;
  sum_before(found, total);
  if (threadIdx.x == 0) a.answers[blockIdx.x] = total;
}

template <class T>
inline void unique_write(const UniqueArguments& a) {
  using U = std::make_unsigned_t<T>;
  const std::int64_t begin = blockIdx.x * a.chunk;
  const std::int64_t end = begin + a.chunk < a.n ? begin + a.chunk : a.n;
  std::uint64_t before = a.before[blockIdx.x];
  for (std::int64_t from = begin; from < end; from += blockDim.x) {
    const std::int64_t i = from + threadIdx.x;
    const bool begins = i < end && is_new<U>(a, i);
    std::uint32_t total = 0;
    const std::uint32_t earlier = sum_before(begins ? 1 : 0, total);
    if (i < end) {
      // Those that began up to here, this one among them, less one.
      const std::uint64_t group = before + earlier + (begins ? 1 : 0) - 1;
      if (begins) {
        const U key = key_of(a.rule, static_cast<const U*>(a.sorted)[i]);
        static_cast<U*>(a.values)[group] = element_of(a.rule, key);
      }
      if (a.inverse != nullptr) a.inverse[a.places[i]] = static_cast<std::int64_t>(group);
      if (a.counts != nullptr) {
        // Integers: in whatever order they come, the sum is the same.
        auto* const count = reinterpret_cast<unsigned long long*>(a.counts + group);
        const auto at = static_cast<unsigned long long>(i);
        if (begins) atomicAdd(count, 0ull - at);
        if (i + 1 == a.n || is_new<U>(a, i + 1)) atomicAdd(count, at + 1);
      }
    }
    before += total;
  }
}

template <class T>
inline void search_sorted(const SearchArguments& a) {
  using U = std::make_unsigned_t<T>;
  const auto n = static_cast<std::uint64_t>(a.values.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    const TwoPlaces at = places_of(a.values, i, 0, 1);
    const U* const row = static_cast<const U*>(a.sorted) + at.second;
    const U value = key_of(a.rule, static_cast<const U*>(a.sought)[at.first]);
    std::int64_t low = 0;
    std::int64_t high = a.n;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      const U element = key_of(a.rule, row[middle * a.step]);
      if (a.right != 0 ? element <= value : element < value) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    a.out[i] = low;
  }
}

}  // namespace tenure::kernels::cuda
