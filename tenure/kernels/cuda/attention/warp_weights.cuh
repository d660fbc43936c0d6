#pragma once

#include "tenure/kernels/cuda/attention/products.cuh"

// Weights of the rows that a warp has. They are powers of two, relative to a score that is about
// the largest of the row so far: they are made relative to a larger one, and what was summed up is
// scaled, when that is so much larger that weights would not be exact any more.

namespace tenure::kernels::cuda {

inline constexpr float kLog2OfE = 1.4426950408889634f;
/// By how much the exponent of a weight may exceed zero. Half has no room for that.
template <class T>
inline constexpr float kSlack = std::is_same_v<T, Half> ? 0.0f : 8.0f;

/// What the exponents of weights are, per score.
inline float exponent_of(const AttentionArguments& a) {
  return static_cast<float>(a.scale) * kLog2OfE;
}

/// Marks the scores of keys that a query does not see. Rows of `scores` are queries from `query` on
/// and columns keys from `key` on, or, if `by_key`, the other way round.
template <bool by_key, int m, int tiles>
inline void hide_unseen(const AttentionArguments& a, const Sight& sight, std::int64_t mask,
                        int query, int key, float (&scores)[m][tiles][4]) {
  const int own_row = lane_of() / 4;
  const int own_column = lane_of() % 4 * 2;
#pragma unroll
  for (int i = 0; i < m; ++i) {
    // Columns in [begin, end) are seen, less this lane's first.
    int begin[2];
    int end[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int row = 16 * i + 8 * h + own_row;
      begin[h] = by_key ? key + row - sight.reach - query - own_column : -own_column;
      end[h] = (by_key ? sight.n - query : sight.keys_seen(query + row) - key) - own_column;
    }
#pragma unroll
    for (int j = 0; j < tiles; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        const int column = 8 * j + k % 2;
        if (column < begin[k / 2] || column >= end[k / 2]) scores[i][j][k] = -INFINITY;
      }
    }
    if (a.mask_kind == 0) continue;
    std::uint64_t hidden = 0;  // a bit of each score; short code, as few have a mask
    static_assert(4 * tiles <= 64);
#pragma unroll 1
    for (int at = 0; at < 4 * tiles; ++at) {
      const int row = 16 * i + at / 2 % 2 * 8 + own_row;
      const int column = at / 4 * 8 + own_column + at % 2;
      const int own_query = query + (by_key ? column : row);
      const int own_key = key + (by_key ? row : column);
      if (own_query < sight.n && own_key < sight.m &&
          !static_cast<const bool*>(
              a.mask.data)[mask + own_query * a.mask.row + own_key * a.mask.column]) {
        hidden |= std::uint64_t{1} << at;
      }
    }
#pragma unroll
    for (int at = 0; at < 4 * tiles; ++at) {
      if ((hidden >> at & 1) != 0) scores[i][at / 4][at % 4] = -INFINITY;
    }
  }
}

/// Weights of m * 16 rows as they come; every lane has those of its own rows.
template <class T, int m>
struct WarpsWeights {
  float factor;
  float largest[m][2];
  float sum[m][2];  ///< this lane's part of it

  explicit WarpsWeights(float exponent) : factor(exponent) {
    for (int i = 0; i < m; ++i) {
      for (int h = 0; h < 2; ++h) {
        largest[i][h] = -INFINITY;
        sum[i][h] = 0;
      }
    }
  }

  /// What exponents are less by.
  float shift(int i, int h) const {
    return largest[i][h] == -INFINITY ? 0.0f : largest[i][h] * factor;
  }
  /// Makes weights of scores. If what was summed up is to be scaled, calls `rescale(i, h, scale)`
  /// for each row before that and returns true: the same for all lanes.
  template <int tiles, class Rescale>
  bool take(float (&scores)[m][tiles][4], const Rescale& rescale) {
    float most[m][2];
    bool is_larger = false;
#pragma unroll
    for (int i = 0; i < m; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        float own = scores[i][0][2 * h];
#pragma unroll
        for (int j = 0; j < tiles; ++j) {
          own = fmaxf(own, fmaxf(scores[i][j][2 * h], scores[i][j][2 * h + 1]));
        }
        most[i][h] = fmaxf(largest[i][h], largest_of_row(own));
        is_larger |= (most[i][h] - largest[i][h]) * factor > kSlack<T>;
      }
    }
    is_larger = __any_sync(0xffffffffu, is_larger) != 0;
    if (is_larger) {
#pragma unroll
      for (int i = 0; i < m; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float scale =
              most[i][h] == largest[i][h] ? 1.0f : fast_exp2((largest[i][h] - most[i][h]) * factor);
          largest[i][h] = most[i][h];
          sum[i][h] *= scale;
          rescale(i, h, scale);
        }
      }
    }
#pragma unroll
    for (int i = 0; i < m; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float less = -shift(i, h);
#pragma unroll
        for (int j = 0; j < tiles; ++j) {
#pragma unroll
          for (int k = 2 * h; k < 2 * h + 2; ++k) {
            scores[i][j][k] = fast_exp2(std::fma(scores[i][j][k], factor, less));
            sum[i][h] += scores[i][j][k];
          }
        }
      }
    }
    return is_larger;
  }
};

template <int m, int tiles>
inline void scale_rows(float (&sums)[m][tiles][4], int i, int h, float scale) {
#pragma unroll
  for (int c = 0; c < tiles; ++c) {
    sums[i][c][2 * h] *= scale;
    sums[i][c][2 * h + 1] *= scale;
  }
}

}  // namespace tenure::kernels::cuda
