#pragma once

#include <bit>

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/reduce/groups_arguments.h"

// Note: groups of threads
//
// A block of kGroupThreads is cut into groups of `lanes` threads, a power of two. A group works on
// one thing, a row of a matrix, say, or an output of a sum. Where elements of a row lie side by
// side, so do the threads of a group; where those of a column do, neighbours have neighbouring
// columns. What the lanes of a group found is joined in an order that the sizes alone give, so that
// results have the same bits from run to run. All threads of a block take part in joining.

namespace tenure::kernels::cuda {

/// Where a thread is.
struct Place {
  std::int64_t group;  ///< of the grid
  unsigned lane;
};
inline Place place_of(const Groups& groups) {
  const int bits = __ffs(static_cast<int>(groups.lanes)) - 1;  // divisions take long
  const unsigned across = kGroupThreads >> bits;
  const unsigned at = groups.columns != 0 ? threadIdx.x & (across - 1) : threadIdx.x >> bits;
  const unsigned lane = groups.columns != 0 ? threadIdx.x * groups.lanes / kGroupThreads
                                            : threadIdx.x & (groups.lanes - 1);
  return {static_cast<std::int64_t>(blockIdx.x) * across + at, lane};
}

template <int n>
struct Words {
  unsigned of[n];
};
/// What the thread whose number differs by `by`, a power of two below 32, has.
template <class S>
inline S swapped(const S& mine, unsigned by) {
  static_assert(sizeof(S) % 4 == 0);
  auto words = std::bit_cast<Words<sizeof(S) / 4>>(mine);
  for (unsigned& word : words.of) word = __shfl_xor_sync(0xffffffffu, word, by);
  return std::bit_cast<S>(words);
}

/// All that the lanes of a group have, joined; `join` is commutative. Each lane gets it.
template <class S, class Join>
inline S joined(S mine, const Groups& groups, Join join) {
  __shared__ S room[kGroupThreads];
  if (groups.columns != 0) {
    if (groups.lanes == 1) return mine;
    const unsigned across = kGroupThreads / groups.lanes;
    for (unsigned by = across; by < 32; by *= 2) mine = join(mine, swapped(mine, by));
    __syncthreads();  // the room may be in use from the last time
    room[threadIdx.x] = mine;
    __syncthreads();
    const unsigned step = across < 32 ? 32 : across;
    unsigned i = threadIdx.x % step;
    S all = room[i];
    while ((i += step) < kGroupThreads) all = join(all, room[i]);
    return all;
  }
  for (unsigned by = 1; by < groups.lanes && by < 32; by *= 2) mine = join(mine, swapped(mine, by));
  if (groups.lanes <= 32) return mine;
  __syncthreads();
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = mine;
  __syncthreads();
  const unsigned warps = groups.lanes / 32;
  const unsigned first = threadIdx.x / groups.lanes * warps;
  S all = room[first];
  for (unsigned i = 1; i < warps; ++i) all = join(all, room[first + i]);
  return all;
}

/// Where element i of a walk lies.
inline std::int64_t offset_in(const Walk& walk, std::int64_t i) {
  if (walk.rank == 1) return i * walk.strides[0];
  std::int64_t offset = 0;
#pragma unroll 1
  for (int d = walk.rank - 1; d > 0; --d) {
    std::int64_t row = 0;
    if ((i | walk.sizes[d]) >> 32 == 0) {  // divisions of 32 bits are many times as fast
      row = static_cast<std::uint32_t>(i) / static_cast<std::uint32_t>(walk.sizes[d]);
    } else {
      row = i / walk.sizes[d];
    }
    offset += (i - row * walk.sizes[d]) * walk.strides[d];
    i = row;
  }
  return walk.rank == 0 ? 0 : offset + i * walk.strides[0];
}

/// 16 bytes of elements, which are read at once.
template <class T>
struct alignas(16) Pack {
  static constexpr int kSize = 16 / sizeof(T);
  T of[kSize];
};

/// A sum of Ts: in float64, and that of float64 as a pair, with what was lost in rounding.
template <class T>
struct Total {
  double sum;

  static Total none() { return {0}; }
  void add(double x) { sum += x; }
  static Total join(const Total& a, const Total& b) { return {a.sum + b.sum}; }
  double value() const { return sum; }
};
template <>
struct Total<double> {
  double sum;
  double rest;

  static Total none() { return {0, 0}; }
  void add(double x) {
    const double all = sum + x;
    const double part = all - sum;
    rest += (sum - (all - part)) + (x - part);
    sum = all;
  }
  static Total join(Total a, const Total& b) {
    const double rests = a.rest + b.rest;
    a.rest = 0;
    a.add(b.sum);
    a.rest += rests;
    return a;
  }
  /// Of infinite sums the rest is no number.
  double value() const { return sum - sum == 0 ? sum + rest : sum; }
};

/// Where exponentials are summed: relative to the largest exponent so far, so that none overflows.
template <class C>
struct ExpTotal {
  double sum;
  C shift;

  static ExpTotal none() { return {0, -std::numeric_limits<C>::infinity()}; }
  void add(C x) {
    if (x > shift) {
      sum = sum * static_cast<double>(std::exp(shift - x)) + 1;
      shift = x;
    } else if (x == shift) {  // both may be infinite
      sum += 1;
    } else if (x != x) {
      shift = x;
    } else {
      sum += static_cast<double>(std::exp(x - shift));
    }
  }
  static ExpTotal join(const ExpTotal& a, const ExpTotal& b) {
    if (a.shift == b.shift) return {a.sum + b.sum, a.shift};
    if (a.shift != a.shift) return a;
    if (b.shift != b.shift) return b;
    const C shift = a.shift > b.shift ? a.shift : b.shift;
    return {scaled(a, shift) + scaled(b, shift), shift};
  }
  /// log(sum of exp); that of nothing is -infinity.
  double log_value() const {
    return shift - shift == 0 ? static_cast<double>(shift) + std::log(sum) : static_cast<double>(shift);
  }

 private:
  static double scaled(const ExpTotal& a, C shift) {
    return a.shift == shift ? a.sum
                            : a.sum * std::exp(static_cast<double>(a.shift) - static_cast<double>(shift));
  }
};

}  // namespace tenure::kernels::cuda
