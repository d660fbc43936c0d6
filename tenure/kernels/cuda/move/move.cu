#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/device/vector.cuh"
#include "tenure/kernels/cuda/move/move_arguments.h"
#include "tenure/kernels/cuda/places/small_nest.cuh"

namespace tenure::kernels::cuda {

/// What a thread does of a copy: steps of n elements that are as far apart as the grid has threads.
template <class From, class To, int n>
inline void copy_steps(const CopyArguments& a) {
  constexpr int kSteps = steps_at_once(n * sizeof(From));
  using Read = Bytes<n * sizeof(From)>;
  const auto first = static_cast<std::uint32_t>(thread_index());
  const auto apart = static_cast<std::uint32_t>(thread_count());
  std::uint32_t step[kSteps];
  std::int64_t at[kSteps][2];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) step[s] = first + s * apart;
  places_of(a.nest, step, at);
  Read read[kSteps];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (first + s * apart >= a.nest.count) continue;
    read[s] = *reinterpret_cast<const Read*>(static_cast<const From*>(a.from) + at[s][0]);
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (first + s * apart >= a.nest.count) break;
    const auto in = std::bit_cast<Vector<From, n>>(read[s]);
    Vector<To, n> out;
#pragma unroll
    for (int k = 0; k < n; ++k) out.of[k] = convert<To>(in.of[k]);
    *reinterpret_cast<Vector<To, n>*>(static_cast<To*>(a.to) + at[s][1]) = out;
  }
}

/// Elements of one size, from any layout to any.
template <class T>
inline void copy_same(const CopyArguments& a) {
  copy_steps<T, T, 1>(a);
}
/// Those of 16 bytes.
inline void copy_vectors(const CopyArguments& a) {
  copy_steps<Bytes<kVectorBytes>, Bytes<kVectorBytes>, 1>(a);
}

/// Elements of one type become elements of another.
template <class From, class To>
inline void copy_converted(const CopyArguments& a) {
  constexpr int n = vector_size<From, To>();
  if (a.is_vectors != 0) {
    copy_steps<From, To, n>(a);
  } else {
    copy_steps<From, To, 1>(a);
  }
}

/// A tile of a matrix, by way of shared memory, whose lines are a word longer than the tile: those
/// that are read together lie in different banks.
template <class T>
inline void copy_tiles(const TilesArguments& a) {
  constexpr int kSide = tile_side(sizeof(T));
  constexpr int kLine = kSide + (sizeof(T) < 4 ? 4 / static_cast<int>(sizeof(T)) : 1);
  constexpr int kLines = kTileThreads / 32;
  __shared__ T tile[kSide * kLine];
  std::uint32_t matrix[1] = {quotient(blockIdx.x, a.across)};
  const std::uint32_t column0 = (blockIdx.x - matrix[0] * a.across.size) * kSide;
  const std::uint32_t rest = quotient(matrix[0], a.down);
  const std::uint32_t row0 = (matrix[0] - rest * a.down.size) * kSide;
  matrix[0] = rest;
  std::int64_t at[1][2];
  places_of(a.matrices, matrix, at);
  const T* const from = static_cast<const T*>(a.from) + at[0][0];
  T* const to = static_cast<T*>(a.to) + at[0][1];
  const std::uint32_t lane = threadIdx.x % 32;
  const std::uint32_t line = threadIdx.x / 32;
  T read[kSide / kLines][kSide / 32];
#pragma unroll
  for (int i = 0; i < kSide / kLines; ++i) {
    const std::uint32_t column = column0 + line + i * kLines;
#pragma unroll
    for (int k = 0; k < kSide / 32; ++k) {
      const std::uint32_t row = row0 + lane + k * 32;
      if (column < a.columns && row < a.rows) read[i][k] = from[column * a.from_column + row];
    }
  }
#pragma unroll
  for (int i = 0; i < kSide / kLines; ++i) {
#pragma unroll
    for (int k = 0; k < kSide / 32; ++k) {
      tile[(line + i * kLines) * kLine + lane + k * 32] = read[i][k];
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < kSide / kLines; ++i) {
    const std::uint32_t row = row0 + line + i * kLines;
#pragma unroll
    for (int k = 0; k < kSide / 32; ++k) {
      const std::uint32_t column = column0 + lane + k * 32;
      if (column < a.columns && row < a.rows) {
        to[row * a.to_row + column] = tile[(lane + k * 32) * kLine + line + i * kLines];
      }
    }
  }
}

}  // namespace tenure::kernels::cuda
