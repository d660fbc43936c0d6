#pragma once

#include "tenure/kernels/cuda/attention/tiles.cuh"

// Attention of float32, exactly, for heads of few columns (tiles.cuh). Sixteen threads share some
// rows of what is kept: each has those rows of every sixteenth column of the scores, and of one
// pack of columns of the result. Weights of these rows go through shared memory of their own.

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

template <class T, AttentionTiles tiles>
inline void attend_by_tiles(const AttentionArguments& a) {
  using Part = OwnPart<tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kTile = tiles.across * kSize / 4;
  TENURE_SHARED(Pack4, q_tile);
  Pack4* const room = q_tile + tiles.rows() * kSize / 4;
  Pack4* const going_by = room + tiles.rows() * tiles.across / 4;
  const Sight sight(a);
  const OwnBlock block(sight.n, tiles.rows(), true);
  const TileSources<float> head(a, block.head);
  const auto begin_keys = [&](int key, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    begin_tile<kSize, tiles.across, tiles.threads()>(at, head.k, key);
    begin_tile<kSize, tiles.across, tiles.threads()>(at + kTile, head.v, key);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  begin_tile<kSize, tiles.rows(), tiles.threads()>(q_tile, head.q, block.row);
  OwnWeights<tiles> running;
  float sums[Part::kRows][4] = {};
  for_each_tile<tiles.across, tiles.stages>(0, seen, begin_keys, [&](int key, int stage) {
    const Pack4* const keys = going_by + 2 * stage * kTile;
    float scores[Part::kRows][Part::kColumns];
    multiply_rows<tiles>(scores, q_tile, keys);
    make_scores<tiles, false>(a, sight, head.places.of[4], block.row, key, scores);
    running.take(scores, [&](int i, float scale) {
      for (int c = 0; c < 4; ++c) sums[i][c] *= scale;
    });
    show_weights<tiles>(room, scores);
    __syncwarp();
    add_weighted<tiles>(sums, room, keys + kTile);
    __syncwarp();
  });
  float share[Part::kRows];
  for (int i = 0; i < Part::kRows; ++i) {
    const float sum = sum_of_sharers(running.sum[i]);
    share[i] = sum == 0 ? 0.0f : 1.0f / sum;
  }
  store_rows<tiles>(a.out, block.head, block.row, sight.n, a.e, sums,
                    [&](int i, float sum) { return sum * share[i]; });
}

// Facts of a query: its largest score, one by the sum of its weights, their mean slope. As in
// tensor_cores.cu, a sum by weights corrects the one by weight * (slope - guess), whose guess is
// the mean over the first keys.

template <class T, AttentionTiles tiles>
inline void query_gradient_by_tiles(const AttentionArguments& a) {
  using Part = OwnPart<tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kKept = tiles.rows() * kSize / 4;
  constexpr int kRoom = tiles.rows() * tiles.across / 4;
  constexpr int kTile = tiles.across * kSize / 4;
  TENURE_SHARED(Pack4, q_tile);
  Pack4* const gradient_tile = q_tile + kKept;
  Pack4* const weights_room = gradient_tile + kKept;
  Pack4* const slopes_room = weights_room + kRoom;
  Pack4* const going_by = slopes_room + kRoom;
  const Sight sight(a);
  const OwnBlock block(sight.n, tiles.rows(), true);
  const TileSources<float> head(a, block.head);
  const auto begin_keys = [&](int key, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    begin_tile<kSize, tiles.across, tiles.threads()>(at, head.k, key);
    begin_tile<kSize, tiles.across, tiles.threads()>(at + kTile, head.v, key);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  begin_tile<kSize, tiles.rows(), tiles.threads()>(q_tile, head.q, block.row);
  begin_tile<kSize, tiles.rows(), tiles.threads()>(gradient_tile, head.gradient, block.row);
  OwnWeights<tiles> running;
  float by_slope[Part::kRows][4] = {};
  float by_weight[Part::kRows][4] = {};
  float slope[Part::kRows] = {};  // this thread's part of the sum
  float guess[Part::kRows] = {};
  for_each_tile<tiles.across, tiles.stages>(0, seen, begin_keys, [&](int key, int stage) {
    const Pack4* const keys = going_by + 2 * stage * kTile;
    float weights[Part::kRows][Part::kColumns];
    multiply_rows<tiles>(weights, q_tile, keys);
    make_scores<tiles, false>(a, sight, head.places.of[4], block.row, key, weights);
    running.take(weights, [&](int i, float scale) {
      slope[i] *= scale;
      for (int c = 0; c < 4; ++c) {
        by_slope[i][c] *= scale;
        by_weight[i][c] *= scale;
      }
    });
    float slopes[Part::kRows][Part::kColumns];
    multiply_rows<tiles>(slopes, gradient_tile, keys + kTile);
#pragma unroll
    for (int i = 0; i < Part::kRows; ++i) {
      for (int j = 0; j < Part::kColumns; ++j) {
        slope[i] = std::fma(weights[i][j], slopes[i][j], slope[i]);
      }
      if (key == 0) {
        const float sum = sum_of_sharers(running.sum[i]);
        guess[i] = sum_of_sharers(slope[i]) / (sum == 0 ? 1.0f : sum);
      }
      for (int j = 0; j < Part::kColumns; ++j) {
        slopes[i][j] = (slopes[i][j] - guess[i]) * weights[i][j];
      }
    }
    show_weights<tiles>(weights_room, weights);
    show_weights<tiles>(slopes_room, slopes);
    __syncwarp();
    add_weighted<tiles>(by_slope, slopes_room, keys);
    add_weighted<tiles>(by_weight, weights_room, keys);
    __syncwarp();
  });
  const Part own;
  float share[Part::kRows];
#pragma unroll
  for (int i = 0; i < Part::kRows; ++i) {
    const float sum = sum_of_sharers(running.sum[i]);
    share[i] = sum == 0 ? 0.0f : 1.0f / sum;
    const float mean = sum_of_sharers(slope[i]) * share[i];
    for (int c = 0; c < 4; ++c) {
      by_slope[i][c] = std::fma(guess[i] - mean, by_weight[i][c], by_slope[i][c]);
    }
    const int query = block.row + own.row + i;
    if (query >= sight.n || own.place != 0) continue;
    facts_of(a, 0, block.head)[query] = running.largest[i];
    facts_of(a, 1, block.head)[query] = share[i];
    facts_of(a, 2, block.head)[query] = mean;
  }
  const auto scale = static_cast<float>(a.scale);
  store_rows<tiles>(a.out, block.head, block.row, sight.n, a.d, by_slope,
                    [&](int i, float sum) { return sum * (share[i] * scale); });
}

/// The gradients by k and v: rows that are kept are keys, and tiles of queries go by.
template <class T, AttentionTiles tiles>
inline void key_value_gradient_by_tiles(const AttentionArguments& a) {
  using Part = OwnPart<tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kAcross = tiles.across;
  constexpr int kKept = tiles.rows() * kSize / 4;
  constexpr int kRoom = tiles.rows() * kAcross / 4;
  constexpr int kTile = kAcross * kSize / 4;
  TENURE_SHARED(Pack4, k_tile);
  Pack4* const v_tile = k_tile + kKept;
  Pack4* const weights_room = v_tile + kKept;
  Pack4* const slopes_room = weights_room + kRoom;
  Pack4* const going_by = slopes_room + kRoom;
  auto* const facts = reinterpret_cast<float*>(going_by + 2 * tiles.stages * kTile);
  const Sight sight(a);
  const OwnBlock block(sight.m, tiles.rows(), false);
  const TileSources<float> head(a, block.head);
  const auto begin_queries = [&](int query, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    begin_tile<kSize, kAcross, tiles.threads()>(at, head.q, query);
    begin_tile<kSize, kAcross, tiles.threads()>(at + kTile, head.gradient, query);
    begin_facts<3, kAcross, tiles.threads()>(facts + 3 * kAcross * stage, a, block.head, query);
  };
  const int begin = max(0, block.row - sight.reach);  // the first that sees a key of this block
  begin_tile<kSize, tiles.rows(), tiles.threads()>(k_tile, head.k, block.row);
  begin_tile<kSize, tiles.rows(), tiles.threads()>(v_tile, head.v, block.row);
  const Part own;
  float of_keys[Part::kRows][4] = {};
  float of_values[Part::kRows][4] = {};
  for_each_tile<kAcross, tiles.stages>(begin, sight.n, begin_queries, [&](int query, int stage) {
    const Pack4* const queries = going_by + 2 * stage * kTile;
    const float* const own_facts = facts + 3 * kAcross * stage + own.place;
    float weights[Part::kRows][Part::kColumns];
    float slopes[Part::kRows][Part::kColumns];
    multiply_rows<tiles>(weights, k_tile, queries);
    multiply_rows<tiles>(slopes, v_tile, queries + kTile);
    make_scores<tiles, true>(a, sight, head.places.of[4], query, block.row, weights);
#pragma unroll
    for (int j = 0; j < Part::kColumns; ++j) {
      const float largest = own_facts[kSharers * j];
      const float share = own_facts[kAcross + kSharers * j];
      const float mean = own_facts[2 * kAcross + kSharers * j];
#pragma unroll
      for (int i = 0; i < Part::kRows; ++i) {
        weights[i][j] =
            weights[i][j] == -INFINITY ? 0.0f : std::exp(weights[i][j] - largest) * share;
        slopes[i][j] = (slopes[i][j] - mean) * weights[i][j];
      }
    }
    show_weights<tiles>(weights_room, weights);
    show_weights<tiles>(slopes_room, slopes);
    __syncwarp();
    add_weighted<tiles>(of_values, weights_room, queries + kTile);
    add_weighted<tiles>(of_keys, slopes_room, queries);
    __syncwarp();
  });
  const auto scale = static_cast<float>(a.scale);
  store_rows<tiles>(a.out, block.head, block.row, sight.m, a.d, of_keys,
                    [&](int, float sum) { return sum * scale; });
  store_rows<tiles>(a.out_of_values, block.head, block.row, sight.m, a.e, of_values,
                    [](int, float sum) { return sum; });
}

template <class T>
inline void attend_float32(const AttentionArguments& a) {
  attend_by_tiles<T, kFloat32Tiles>(a);
}
template <class T>
inline void query_gradient_float32(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kFloat32Tiles>(a);
}
template <class T>
inline void key_value_gradient_float32(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kFloat32Tiles>(a);
}

}  // namespace tenure::kernels::cuda
