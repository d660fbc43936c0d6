#pragma once

#include "tenure/kernels/cuda/loops/neighbours.cuh"
#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/products/few_rows_arguments.h"

// Products of few rows by a matrix, which is read once: all that counts is that every processor
// asks for its part of it at once. A thread has four neighbours in memory at a time, and sums of
// them for each of the rows; those of a block are added in a fixed order.

namespace tenure::kernels::cuda {

/// Four neighbours, of which `left` are there.
inline Vector<float, 4> load_four(const float* from, int left, bool by_vectors) {
  if (by_vectors && left >= 4) return *reinterpret_cast<const Vector<float, 4>*>(from);
  Vector<float, 4> four{};
#pragma unroll
  for (int e = 0; e < 4; ++e) {
    if (e < left) four.of[e] = from[e];
  }
  return four;
}

/// What follows on a result, where it goes.
template <class After, class Arguments>
inline void put_result(const Arguments& p, std::int64_t product, int row, int column, float sum) {
  const std::int64_t element = (product * p.m + row) * p.n + column;
  static_cast<ResultOf<After, float>*>(p.c)[element] =
      followed<After, float, 1>(p, element, Vector<float, 1>{{sum}}).of[0];
}

/// Of a matrix whose rows lie side by side: neighbours are columns. `p.across` threads of a block
/// have neighbours of one row, the others those of the rows after it.
template <int rows, class After = NoLoop, class Arguments = FewRows>
inline void multiply_rows(const Arguments& p) {
  constexpr int kWarps = kFewRowsThreads / 32;
  __shared__ float parts[kWarps][rows][32 * 4];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int width = p.across * 4;
  const int blocks = (p.n + width - 1) / width;
  const int product = static_cast<int>(blockIdx.x) / blocks;
  const int begin = static_cast<int>(blockIdx.x) % blocks * width;
  const int column = begin + lane % p.across * 4;
  const TwoPlaces places = places_at(p.batch, static_cast<std::uint32_t>(product), 0, 1);
  const float* const a = p.a + places.first;
  const float* const b = p.b + places.second + column;

  float sums[rows][4] = {};
  const auto add = [&](const auto& load) {
#pragma unroll 4
    for (int k = static_cast<int>(threadIdx.x) / p.across; k < p.k;
         k += kFewRowsThreads / p.across) {
      const Vector<float, 4> four = load(b + k * p.b_stride);
#pragma unroll
      for (int i = 0; i < rows; ++i) {
        const float x = i < p.m ? a[i * p.a_row + k * p.a_column] : 0.0f;
#pragma unroll
        for (int e = 0; e < 4; ++e) sums[i][e] = std::fma(x, four.of[e], sums[i][e]);
      }
    }
  };
  if (p.b_by_vectors && column + 4 <= p.n) {
    add([](const float* from) { return *reinterpret_cast<const Vector<float, 4>*>(from); });
  } else {
    add([&](const float* from) { return load_four(from, p.n - column, false); });
  }
  for (int apart_by = 16; apart_by >= p.across; apart_by /= 2) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i][e] += __shfl_xor_sync(~0u, sums[i][e], apart_by);
    }
  }
  if (lane < p.across) {
#pragma unroll
    for (int i = 0; i < rows; ++i) {
#pragma unroll
      for (int e = 0; e < 4; ++e) parts[warp][i][lane * 4 + e] = sums[i][e];
    }
  }
  __syncthreads();
  for (int at = static_cast<int>(threadIdx.x); at < rows * width; at += kFewRowsThreads) {
    const int row = at / width;
    const int j = at % width;
    if (row >= p.m || begin + j >= p.n) continue;
    float sum = parts[0][row][j];
#pragma unroll
    for (int w = 1; w < kWarps; ++w) sum += parts[w][row][j];
    put_result<After>(p, product, row, begin + j, sum);
  }
}

/// Of a matrix whose columns lie side by side: neighbours are steps of k, and a warp has a column.
template <int rows, class After = NoLoop, class Arguments = FewRows>
inline void multiply_columns(const Arguments& p) {
  const std::int64_t warp = static_cast<std::int64_t>(thread_index() / 32);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const auto product = static_cast<std::int64_t>(warp / p.n);
  const int column = static_cast<int>(warp % p.n);
  if (product >= p.batch.count) return;
  const TwoPlaces places = places_at(p.batch, static_cast<std::uint32_t>(product), 0, 1);
  const float* const a = p.a + places.first;
  const float* const b = p.b + places.second + column * p.b_stride;

  float sums[rows] = {};
#pragma unroll 2
  for (int k = lane * 4; k < p.k; k += 128) {
    const Vector<float, 4> four = load_four(b + k, p.k - k, p.b_by_vectors);
#pragma unroll
    for (int i = 0; i < rows; ++i) {
      if (i >= p.m) break;
      Vector<float, 4> x{};
      if (p.a_column == 1) {
        x = load_four(a + i * p.a_row + k, p.k - k, p.a_by_vectors);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          if (k + e < p.k) x.of[e] = a[i * p.a_row + (k + e) * p.a_column];
        }
      }
#pragma unroll
      for (int e = 0; e < 4; ++e) sums[i] = std::fma(x.of[e], four.of[e], sums[i]);
    }
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
#pragma unroll
    for (int apart = 16; apart > 0; apart /= 2) sums[i] += __shfl_xor_sync(~0u, sums[i], apart);
  }
#pragma unroll
  for (int i = 0; i < rows; ++i) {
    if (lane == i && i < p.m) put_result<After>(p, product, i, column, sums[i]);
  }
}

}  // namespace tenure::kernels::cuda
