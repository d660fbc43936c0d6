#pragma once

#include "tenure/kernels/cuda/attention/tiles.cuh"

// What a warp does with tiles: it has 16 rows of each of `m` matrices of sums in its lanes, as
// device/mma.cuh says.

namespace tenure::kernels::cuda {

inline int lane_of() { return static_cast<int>(threadIdx.x) % 32; }
inline int warp_of() { return static_cast<int>(threadIdx.x) / 32; }

/// The largest, or the sum, of what the four lanes have that share a row.
inline float largest_of_row(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
inline float sum_of_row(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

/// products = rows of `kept` times rows of `tile`.
template <int size, int m, int tiles, class T>
inline void multiply_rows(float (&products)[m][tiles][4], const TilePack<T>* kept,
                          const TilePack<T>* tile) {
  constexpr int kPacks = size / TilePack<T>::kSize;
  const int lane = lane_of();
  kept += lane % 16 * kPacks;
  tile += (lane / 16 * 8 + lane % 8) * kPacks;
#pragma unroll
  for (int i = 0; i < m; ++i) {
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) products[i][j][k] = 0;
    }
  }
#pragma unroll
  for (int step = 0; step < size / 16; ++step) {
    unsigned left[m][4];
#pragma unroll
    for (int i = 0; i < m; ++i) {
      load_matrices(left[i], kept + 16 * i * kPacks + ((2 * step + lane / 16) ^ lane % 8));
    }
#pragma unroll
    for (int j = 0; j < tiles; j += 2) {
      unsigned right[4];
      load_matrices(right, tile + 8 * j * kPacks + ((2 * step + lane / 8 % 2) ^ lane % 8));
#pragma unroll
      for (int i = 0; i < m; ++i) {
        multiply_matrices<T>(products[i][j], left[i], right[0], right[1]);
        multiply_matrices<T>(products[i][j + 1], left[i], right[2], right[3]);
      }
    }
  }
}

/// Sums that are weights now, 16 columns from 8 * j on, as the left matrix of another product.
template <class T, int tiles>
inline void as_left(unsigned (&left)[4], const float (&weights)[tiles][4], int j) {
  left[0] = packed<T>(weights[j][0], weights[j][1]);
  left[1] = packed<T>(weights[j][2], weights[j][3]);
  left[2] = packed<T>(weights[j + 1][0], weights[j + 1][1]);
  left[3] = packed<T>(weights[j + 1][2], weights[j + 1][3]);
}

/// sums += weights times `tile`, a matrix of weights for each of m matrices of sums.
template <int size, int m, int tiles, class T>
inline void add_weighted(float (&sums)[m][size / 8][4], const float (&weights)[m][tiles][4],
                         const TilePack<T>* tile) {
  constexpr int kPacks = size / TilePack<T>::kSize;
  const int lane = lane_of();
  tile += lane % 16 * kPacks;
#pragma unroll
  for (int j = 0; j < tiles; j += 2) {
    unsigned left[m][4];
#pragma unroll
    for (int i = 0; i < m; ++i) as_left<T>(left[i], weights[i], j);
#pragma unroll
    for (int c = 0; c < size / 8; c += 2) {
      unsigned right[4];
      load_transposed(right, tile + 8 * j * kPacks + ((c + lane / 16) ^ lane % 8));
#pragma unroll
      for (int i = 0; i < m; ++i) {
        multiply_matrices<T>(sums[i][c], left[i], right[0], right[1]);
        multiply_matrices<T>(sums[i][c + 1], left[i], right[2], right[3]);
      }
    }
  }
}

/// Stores the rows of this warp, from `row` on, of a matrix of rows behind each other; `of(i, h,
/// sum)` is the result of a sum in rows 16 * i + 8 * h and so on.
template <class T, int m, int tiles, class F>
inline void store_rows(void* matrices, unsigned head, int row, int rows, std::int64_t columns,
                       const float (&sums)[m][tiles][4], const F& of) {
  const int lane = lane_of();
  if (row + 16 * m <= rows && columns == 8 * tiles) {
    T* const out = static_cast<T*>(matrices) +
                   (static_cast<std::int64_t>(head) * rows + row + lane / 4) * (8 * tiles) +
                   lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < m; ++i) {
#pragma unroll
      for (int j = 0; j < tiles; ++j) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          *reinterpret_cast<unsigned*>(out + (16 * i + 8 * h) * (8 * tiles) + 8 * j) =
              packed<T>(of(i, h, sums[i][j][2 * h]), of(i, h, sums[i][j][2 * h + 1]));
        }
      }
    }
    return;
  }
#pragma unroll
  for (int i = 0; i < m; ++i) {
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int own = row + 16 * i + 8 * h + lane / 4;
      if (own >= rows) continue;
      T* const out = static_cast<T*>(matrices) +
                     (static_cast<std::int64_t>(head) * rows + own) * columns + lane % 4 * 2;
      const bool is_even = columns % 2 == 0;
#pragma unroll
      for (int j = 0; j < tiles; ++j) {
        const int column = 8 * j + lane % 4 * 2;
        const unsigned both =
            packed<T>(of(i, h, sums[i][j][2 * h]), of(i, h, sums[i][j][2 * h + 1]));
        if (is_even) {
          if (column < columns) *reinterpret_cast<unsigned*>(out + 8 * j) = both;
          continue;
        }
        if (column < columns) out[8 * j] = T::from_bits(static_cast<std::uint16_t>(both));
        if (column + 1 < columns) {
          out[8 * j + 1] = T::from_bits(static_cast<std::uint16_t>(both >> 16));
        }
      }
    }
  }
}

}  // namespace tenure::kernels::cuda
