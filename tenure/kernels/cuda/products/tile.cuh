#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

// A tile of a product of matrices, computed by one block. What the matrices are is the caller's:
// lambdas give their elements, so that convolutions are products too.

namespace tenure::kernels::cuda {

inline constexpr int kTile = 64;        ///< rows and columns of a tile
inline constexpr int kTileDepth = 16;   ///< what is in shared memory at a time
inline constexpr int kTileThreads = 256;

/// What products of elements are summed in. Integers wrap around.
template <class T>
using Accumulator = std::conditional_t<
    std::is_same_v<T, std::int64_t>, std::uint64_t,
    std::conditional_t<std::is_integral_v<T>, std::uint32_t,
                       std::conditional_t<std::is_same_v<T, double>, double, float>>>;

template <class A>
inline A multiply_add(A a, A b, A c) {
  if constexpr (std::is_floating_point_v<A>) {
    return std::fma(a, b, c);
  } else {
    return a * b + c;
  }
}

/// The sums over k in [begin, end) for the rows from `row` on and the columns from `column` on, in
/// the order of k whatever the sizes are. `a(i, k)` and `b(k, j)` are only asked for what is inside.
/// `a_runs`, `b_runs`: neighbours in memory differ in k. Each thread calls `put(i, j, sum)` for its
/// own, and sums go on from `start(i, j)`.
template <class Sum, class Start, class A, class B, class Put>
inline void multiply_tile(std::int64_t row, std::int64_t column, std::int64_t rows,
                          std::int64_t columns, std::int64_t begin, std::int64_t end, bool a_runs,
                          bool b_runs, const Start& start, const A& a, const B& b, const Put& put) {
  constexpr int kEach = 4;
  __shared__ Sum a_tile[kTileDepth][kTile + 1];
  __shared__ Sum b_tile[kTileDepth][kTile + 1];
  const int thread = static_cast<int>(threadIdx.x);
  const int x = thread % (kTile / kEach) * kEach;
  const int y = thread / (kTile / kEach) * kEach;
  Sum sums[kEach][kEach];
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      const bool is_inside = row + y + i < rows && column + x + j < columns;
      sums[i][j] = is_inside ? start(row + y + i, column + x + j) : Sum(0);
    }
  }
  for (std::int64_t from = begin; from < end; from += kTileDepth) {
    for (int e = thread; e < kTile * kTileDepth; e += kTileThreads) {
      const int i = a_runs ? e / kTileDepth : e % kTile;
      const int k = a_runs ? e % kTileDepth : e / kTile;
      a_tile[k][i] = row + i < rows && from + k < end ? a(row + i, from + k) : Sum(0);
    }
    for (int e = thread; e < kTile * kTileDepth; e += kTileThreads) {
      const int j = b_runs ? e / kTileDepth : e % kTile;
      const int k = b_runs ? e % kTileDepth : e / kTile;
      b_tile[k][j] = column + j < columns && from + k < end ? b(from + k, column + j) : Sum(0);
    }
    __syncthreads();
    const int depth = end - from < kTileDepth ? static_cast<int>(end - from) : kTileDepth;
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < kEach; ++i) {
        for (int j = 0; j < kEach; ++j) {
          sums[i][j] = multiply_add(a_tile[k][y + i], b_tile[k][x + j], sums[i][j]);
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kEach; ++i) {
    for (int j = 0; j < kEach; ++j) {
      if (row + y + i < rows && column + x + j < columns) {
        put(row + y + i, column + x + j, sums[i][j]);
      }
    }
  }
}

}  // namespace tenure::kernels::cuda
