#pragma once

#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/sort/keys.cuh"
#include "tenure/kernels/cuda/sort/scan.cuh"

// Rows of any length: a pass for every four bits of the keys, from the lowest on, each of three
// kernels. The first counts the digits in each tile of a row; the second makes of the counts where
// the elements of each tile and digit begin; the third puts them there, those of one digit in the
// order that they had. Counts are of integers, so everything has the same bits from run to run.

namespace tenure::kernels::cuda {

inline constexpr int kRadixThreads = 256;
inline constexpr int kRadixEach = 8;  ///< elements of a thread, which are neighbours
inline constexpr int kRadixTile = kRadixThreads * kRadixEach;
inline constexpr int kDigits = 16;

/// A tile of a row, and how it is counted.
template <class U>
struct RadixTile {
  std::int64_t row;
  std::int64_t tile;
  const U* in;
  std::int64_t step;
  int n;  ///< elements of this tile
};

template <class U>
inline RadixTile<U> radix_tile(const RadixArguments& a, std::int64_t which) {
  const std::int64_t row = which / a.tiles;
  const std::int64_t tile = which % a.tiles;
  const std::int64_t begin = tile * kRadixTile;
  const bool is_packed = a.in_is_packed != 0;
  const std::int64_t step = is_packed ? 1 : a.in_step;
  const std::int64_t offset =
      is_packed ? row * a.of.n : place_of(a.of.rows, static_cast<std::uint64_t>(row), 0);
  const std::int64_t rest = a.of.n - begin;
  return {row, tile, static_cast<const U*>(a.in) + offset + begin * step, step,
          static_cast<int>(rest < kRadixTile ? rest : kRadixTile)};
}

template <class U>
inline int digit_of(const RadixArguments& a, U bits) {
  return static_cast<int>(key_of(a.of.rule, bits) >> a.shift) & (kDigits - 1);
}

template <class T>
inline void radix_count(const RadixArguments& a) {
  using U = std::make_unsigned_t<T>;
  __shared__ std::uint32_t counts[kDigits][kRadixThreads];
  const int thread = static_cast<int>(threadIdx.x);
  for (std::int64_t i = blockIdx.x; i < a.of.rows.count * a.tiles; i += gridDim.x) {
    const RadixTile<U> tile = radix_tile<U>(a, i);
    for (int d = 0; d < kDigits; ++d) counts[d][thread] = 0;
    for (int e = thread; e < tile.n; e += kRadixThreads) {
      ++counts[digit_of(a, tile.in[e * tile.step])][thread];
    }
    __syncthreads();
    for (int half = kRadixThreads / 2; half > 0; half /= 2) {
      if (thread < half) {
        for (int d = 0; d < kDigits; ++d) counts[d][thread] += counts[d][thread + half];
      }
      __syncthreads();
    }
    if (thread < kDigits)
      a.counts[(tile.row * kDigits + thread) * a.tiles + tile.tile] = counts[thread][0];
    __syncthreads();
  }
}

/// One block for each row.
inline void radix_scan(const RadixArguments& a) {
  const std::int64_t n = kDigits * a.tiles;
  const std::int64_t each = (n + kRadixThreads - 1) / kRadixThreads;
  for (std::int64_t row = blockIdx.x; row < a.of.rows.count; row += gridDim.x) {
    std::uint32_t* const counts = a.counts + row * n;
    const std::int64_t begin = threadIdx.x * each;
    const std::int64_t end = begin + each < n ? begin + each : n;
    std::uint32_t sum = 0;
    for (std::int64_t i = begin; i < end; ++i) sum += counts[i];
    std::uint32_t total = 0;
    std::uint32_t before = sum_before(sum, total);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::uint32_t count = counts[i];
      counts[i] = before;
      before += count;
    }
  }
}

template <class T>
inline void radix_place(const RadixArguments& a) {
  using U = std::make_unsigned_t<T>;
  __shared__ U items[kRadixTile];
  __shared__ std::uint32_t places[kRadixTile];
  __shared__ std::uint16_t counts[kDigits * kRadixThreads];  // those of a digit lie together
  __shared__ std::uint32_t begins[kDigits];
  const int thread = static_cast<int>(threadIdx.x);
  const bool has_places = a.out_places != nullptr || a.indices != nullptr;
  for (std::int64_t i = blockIdx.x; i < a.of.rows.count * a.tiles; i += gridDim.x) {
    const RadixTile<U> tile = radix_tile<U>(a, i);
    const std::int64_t first = tile.tile * kRadixTile;
    for (int e = thread; e < tile.n; e += kRadixThreads) {
      items[e] = tile.in[e * tile.step];
      if (has_places) {
        places[e] = a.in_places == nullptr ? static_cast<std::uint32_t>(first + e)
                                           : a.in_places[tile.row * a.of.n + first + e];
      }
    }
    for (int d = 0; d < kDigits; ++d) counts[d * kRadixThreads + thread] = 0;
    __syncthreads();
    U own[kRadixEach];
    std::uint32_t own_places[kRadixEach];
    for (int e = 0; e < kRadixEach; ++e) {
      const int at = thread * kRadixEach + e;
      if (at >= tile.n) break;
      own[e] = items[at];
      own_places[e] = has_places ? places[at] : 0;
      ++counts[digit_of(a, own[e]) * kRadixThreads + thread];
    }
    __syncthreads();
    std::uint32_t sum = 0;
    for (int d = 0; d < kDigits; ++d) sum += counts[thread * kDigits + d];
    std::uint32_t total = 0;
    std::uint32_t before = sum_before(sum, total);
    for (int d = 0; d < kDigits; ++d) {
      const std::uint16_t count = counts[thread * kDigits + d];
      counts[thread * kDigits + d] = static_cast<std::uint16_t>(before);
      before += count;
    }
    __syncthreads();
    if (thread < kDigits) begins[thread] = counts[thread * kRadixThreads];
    __syncthreads();
    for (int e = 0; e < kRadixEach; ++e) {
      if (thread * kRadixEach + e >= tile.n) break;
      const int to = counts[digit_of(a, own[e]) * kRadixThreads + thread]++;
      items[to] = own[e];
      places[to] = own_places[e];
    }
    __syncthreads();
    const auto row = static_cast<std::uint64_t>(tile.row);
    const TwoPlaces outs = places_of(a.of.rows, row, 1, 2);
    const bool is_packed = a.out_is_packed != 0;
    U* const out = static_cast<U*>(a.out) + (is_packed ? tile.row * a.of.n : outs.first);
    const std::int64_t step = is_packed ? 1 : a.out_step;
    for (int e = thread; e < tile.n; e += kRadixThreads) {
      const int d = digit_of(a, items[e]);
      const std::int64_t to =
          static_cast<std::int64_t>(a.counts[(tile.row * kDigits + d) * a.tiles + tile.tile]) + e -
          begins[d];
      if (to >= a.of.kept) continue;
      if (a.out != nullptr) out[to * step] = items[e];
      if (a.out_places != nullptr) a.out_places[tile.row * a.of.n + to] = places[e];
      if (a.indices != nullptr) a.indices[outs.second + to * a.index_step] = places[e];
    }
    __syncthreads();
  }
}

}  // namespace tenure::kernels::cuda
