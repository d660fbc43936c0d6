#pragma once

#include "tenure/kernels/cuda/attention/tiles.cuh"

// What threads do with tiles of float32. Sixteen threads share some rows of what is kept: each has
// those rows of every sixteenth column of the scores, and of one pack of columns of the result.
// Weights of these rows go through shared memory of their own.

namespace tenure::kernels::cuda {

inline constexpr int kSharers = 16;

/// What a thread has: its place among those that share its rows, and the first of them.
template <AttentionTiles tiles>
struct OwnPart {
  static constexpr int kRows = tiles.rows_of_warp / (32 / kSharers);
  static constexpr int kColumns = tiles.across / kSharers;
  static_assert(tiles.size == kSharers * 4, "a thread has one pack of the result");

  int place = static_cast<int>(threadIdx.x) % kSharers;
  int row = static_cast<int>(threadIdx.x) / kSharers * kRows;
};

using Pack4 = TilePack<float>;

inline float largest_of_sharers(float x) {
  for (int by = 1; by < kSharers; by *= 2) x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, by));
  return x;
}
inline float sum_of_sharers(float x) {
  for (int by = 1; by < kSharers; by *= 2) x += __shfl_xor_sync(0xffffffffu, x, by);
  return x;
}

/// products = own rows of `kept` times rows of `tile`.
template <AttentionTiles tiles>
inline void multiply_rows(float (&products)[OwnPart<tiles>::kRows][OwnPart<tiles>::kColumns],
                          const Pack4* kept, const Pack4* tile) {
  using Part = OwnPart<tiles>;
  const Part own;
#pragma unroll
  for (int i = 0; i < Part::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < Part::kColumns; ++j) products[i][j] = 0;
  }
#pragma unroll 4
  for (int pack = 0; pack < tiles.size / 4; ++pack) {
    Pack4 left[Part::kRows];
    Pack4 right[Part::kColumns];
#pragma unroll
    for (int i = 0; i < Part::kRows; ++i) {
      left[i] = kept[pack_place<float, tiles.size>(own.row + i, pack)];
    }
#pragma unroll
    for (int j = 0; j < Part::kColumns; ++j) {
      right[j] = tile[pack_place<float, tiles.size>(own.place + kSharers * j, pack)];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int i = 0; i < Part::kRows; ++i) {
#pragma unroll
        for (int j = 0; j < Part::kColumns; ++j) {
          products[i][j] = std::fma(left[i].of[k], right[j].of[k], products[i][j]);
        }
      }
    }
  }
}

/// Weights of own rows where all that share them find them, after a __syncwarp().
template <AttentionTiles tiles>
inline void show_weights(Pack4* room,
                         const float (&weights)[OwnPart<tiles>::kRows][OwnPart<tiles>::kColumns]) {
  using Part = OwnPart<tiles>;
  const Part own;
#pragma unroll
  for (int i = 0; i < Part::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < Part::kColumns; ++j) {
      const int column = own.place + kSharers * j;
      room[pack_place<float, tiles.across>(own.row + i, column / 4)].of[column % 4] = weights[i][j];
    }
  }
}

/// sums += weights in `room` times `tile`.
template <AttentionTiles tiles>
inline void add_weighted(float (&sums)[OwnPart<tiles>::kRows][4], const Pack4* room,
                         const Pack4* tile) {
  using Part = OwnPart<tiles>;
  const Part own;
#pragma unroll 4
  for (int pack = 0; pack < tiles.across / 4; ++pack) {
    Pack4 left[Part::kRows];
    Pack4 right[4];
#pragma unroll
    for (int i = 0; i < Part::kRows; ++i) {
      left[i] = room[pack_place<float, tiles.across>(own.row + i, pack)];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      right[k] = tile[pack_place<float, tiles.size>(4 * pack + k, own.place)];
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
      for (int i = 0; i < Part::kRows; ++i) {
#pragma unroll
        for (int c = 0; c < 4; ++c) {
          sums[i][c] = std::fma(left[i].of[k], right[k].of[c], sums[i][c]);
        }
      }
    }
  }
}

/// Scores of products. Rows are queries from `query` on and columns keys from `key` on, or, if
/// `by_key`, the other way round.
template <AttentionTiles tiles, bool by_key>
inline void make_scores(const AttentionArguments& a, const Sight& sight, std::int64_t mask,
                        int query, int key,
                        float (&products)[OwnPart<tiles>::kRows][OwnPart<tiles>::kColumns]) {
  using Part = OwnPart<tiles>;
  const Part own;
  const auto scale = static_cast<float>(a.scale);
#pragma unroll
  for (int i = 0; i < Part::kRows; ++i) {
#pragma unroll
    for (int j = 0; j < Part::kColumns; ++j) {
      const int row = own.row + i;
      const int column = own.place + kSharers * j;
      const int own_query = query + (by_key ? column : row);
      const int own_key = key + (by_key ? row : column);
      bool is_seen = sight.is_seen(own_query, own_key);
      float score = products[i][j] * scale;
      if (is_seen && a.mask_kind != 0) {
        const std::int64_t at = mask + own_query * a.mask.row + own_key * a.mask.column;
        if (a.mask_kind == 1) {
          is_seen = static_cast<const bool*>(a.mask.data)[at];
        } else {
          score += static_cast<const float*>(a.mask.data)[at];
        }
      }
      products[i][j] = is_seen ? score : -INFINITY;
    }
  }
}

/// Weights of own rows as they come.
template <AttentionTiles tiles>
struct OwnWeights {
  using Part = OwnPart<tiles>;
  float largest[Part::kRows];
  float sum[Part::kRows];  ///< this thread's part of it

  OwnWeights() {
    for (int i = 0; i < Part::kRows; ++i) {
      largest[i] = -INFINITY;
      sum[i] = 0;
    }
  }

  /// Makes weights of scores, and calls `rescale(i, scale)` with what is to become of what was
  /// summed up in each row.
  template <class Rescale>
  void take(float (&scores)[Part::kRows][Part::kColumns], const Rescale& rescale) {
#pragma unroll
    for (int i = 0; i < Part::kRows; ++i) {
      float most = scores[i][0];
#pragma unroll
      for (int j = 1; j < Part::kColumns; ++j) most = fmaxf(most, scores[i][j]);
      most = fmaxf(largest[i], largest_of_sharers(most));
      const float scale = most == largest[i] ? 1.0f : std::exp(largest[i] - most);
      const float less = most == -INFINITY ? 0.0f : most;
      largest[i] = most;
      sum[i] *= scale;
      rescale(i, scale);
#pragma unroll
      for (int j = 0; j < Part::kColumns; ++j) {
        scores[i][j] = std::exp(scores[i][j] - less);
        sum[i] += scores[i][j];
      }
    }
  }
};

/// Stores own rows of a matrix of rows behind each other; the first row of the block is `row`.
template <AttentionTiles tiles, class F>
inline void store_rows(void* out, unsigned head, int row, int rows, std::int64_t columns,
                       const float (&sums)[OwnPart<tiles>::kRows][4], const F& of) {
  using Part = OwnPart<tiles>;
  const Part own;
#pragma unroll
  for (int i = 0; i < Part::kRows; ++i) {
    const int at = row + own.row + i;
    if (at >= rows) continue;
    float* const to = static_cast<float*>(out) +
                      (static_cast<std::int64_t>(head) * rows + at) * columns + 4 * own.place;
    Pack4 pack;
    for (int c = 0; c < 4; ++c) pack.of[c] = of(i, sums[i][c]);
    if (columns % 4 == 0) {
      if (4 * own.place < columns) *reinterpret_cast<Pack4*>(to) = pack;
    } else {
      for (int c = 0; c < 4; ++c) {
        if (4 * own.place + c < columns) to[c] = pack.of[c];
      }
    }
  }
}

}  // namespace tenure::kernels::cuda
