#pragma once

#include "tenure/kernels/cuda/attention/warp_weights.cuh"

// Attention of 16-bit floats by tensor cores, with sums in float32, for heads of few columns
// (tiles.cuh). A mask that is added is not for these kernels, nor is a scale that is not positive.

namespace tenure::kernels::cuda {

template <class T, AttentionTiles tiles>
inline void attend_by_tiles(const AttentionArguments& a) {
  using Products = ProductsOf<T, tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kM = Products::kM;
  constexpr int kTile = tiles.across * kSize / TilePack<T>::kSize;
  TENURE_SHARED(TilePack<T>, q_tile);
  TilePack<T>* const going_by = q_tile + tiles.rows() * kSize / TilePack<T>::kSize;
  const Sight sight(a);
  const OwnBlock block(a, sight.n, tiles.rows(), true);
  const TileSources<T> head(a, block.head);
  TileWalk<tiles, tiles.across, T> next_keys(head.k, 0);
  TileWalk<tiles, tiles.across, T> next_values(head.v, 0);
  const auto begin_keys = [&](int, int stage) {
    TilePack<T>* const at = going_by + 2 * stage * kTile;
    next_keys.begin(at);
    next_values.begin(at + kTile);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  const int row = block.row + warp_of() * tiles.rows_of_warp;
  const int seen_here = sight.keys_seen(block.row + Products::first_row() + Products::kRows - 1);
  begin_tile<tiles, tiles.rows()>(q_tile, head.q, block.row);
  WarpsWeights<T, kM> running(exponent_of(a));
  float sums[kM][kSize / 8][4] = {};
  const typename Products::Kept queries(q_tile);
  for_each_tile<tiles>(0, seen, begin_keys, [&](int key, int stage) {
    if (key >= seen_here) return;
    const TilePack<T>* const keys = going_by + 2 * stage * kTile;
    float scores[kM][tiles.across / 8][4];
    Products::begin_rows(scores, queries, keys);
    Products::template wait<0>(scores, sums);
    if (a.mask_kind != 0 || key + tiles.across > sight.keys_seen(row)) {
      hide_unseen<false>(a, sight, head.places.of[4], row, key, scores);
    }
    running.take(scores, [&](int i, int h, float scale) { scale_rows(sums, i, h, scale); });
    Products::begin_weighted(sums, scores, keys + kTile);
    if constexpr (tiles.late == 0) Products::template wait<0>(sums);
  });
  Products::template wait<0>(sums);
  float share[kM][2];
  for (int i = 0; i < kM; ++i) {
    for (int h = 0; h < 2; ++h) {
      const float sum = sum_of_row(running.sum[i][h]);
      share[i][h] = sum == 0 ? 0.0f : 1.0f / sum;
    }
  }
  store_rows<T>(a.out, block.head, row, sight.n, a.e, sums,
                [&](int i, int h, float sum) { return sum * share[i][h]; });
}

// Facts of a query, for the gradients by k and v: by how much the exponents of its weights are less
// than its scores', and the mean slope of its weights.

// The gradient of a query is the sum over its keys of weight * (slope - mean) * key, where the mean
// slope is known at the end. So there are two sums, by weight * (slope - guess) and by weight,
// the second of which corrects the first: with a guess that is good, it is not of rounded numbers
// that are much larger than their difference. The guess is the mean so far.

template <class T, AttentionTiles tiles>
inline void query_gradient_by_tiles(const AttentionArguments& a) {
  using Products = ProductsOf<T, tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kKept = tiles.rows() * kSize / TilePack<T>::kSize;
  constexpr int kTile = tiles.across * kSize / TilePack<T>::kSize;
  static_assert(tiles.rows_of_warp == 16);
  TENURE_SHARED(TilePack<T>, q_tile);
  TilePack<T>* const gradient_tile = q_tile + kKept;
  TilePack<T>* const going_by = gradient_tile + kKept;
  const Sight sight(a);
  const OwnBlock block(a, sight.n, tiles.rows(), true);
  const TileSources<T> head(a, block.head);
  TileWalk<tiles, tiles.across, T> next_keys(head.k, 0);
  TileWalk<tiles, tiles.across, T> next_values(head.v, 0);
  const auto begin_keys = [&](int, int stage) {
    TilePack<T>* const at = going_by + 2 * stage * kTile;
    next_keys.begin(at);
    next_values.begin(at + kTile);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  const int row = block.row + warp_of() * tiles.rows_of_warp;
  const int seen_here = sight.keys_seen(block.row + Products::first_row() + Products::kRows - 1);
  begin_tile<tiles, tiles.rows()>(q_tile, head.q, block.row);
  begin_tile<tiles, tiles.rows()>(gradient_tile, head.gradient, block.row);
  WarpsWeights<T, 1> running(exponent_of(a));
  float by_slope[1][kSize / 8][4] = {};
  float by_weight[1][kSize / 8][4] = {};
  float slope[2] = {};  // this lane's part of the sum
  float guess[2] = {};
  const typename Products::Kept queries(q_tile);
  const typename Products::Kept gradients(gradient_tile);
  for_each_tile<tiles>(0, seen, begin_keys, [&](int key, int stage) {
    if (key >= seen_here) return;
    const TilePack<T>* const keys = going_by + 2 * stage * kTile;
    float weights[1][tiles.across / 8][4];
    float slopes[1][tiles.across / 8][4];
    Products::begin_rows(weights, queries, keys);
    Products::begin_rows(slopes, gradients, keys + kTile);
    Products::template wait<1>(weights);
    if (a.mask_kind != 0 || key + tiles.across > sight.keys_seen(row)) {
      hide_unseen<false>(a, sight, head.places.of[4], row, key, weights);
    }
    const bool is_larger = running.take(weights, [&](int i, int h, float scale) {
      scale_rows(by_slope, i, h, scale);
      scale_rows(by_weight, i, h, scale);
      slope[h] *= scale;
    });
    Products::template wait<0>(slopes);
#pragma unroll
    for (int j = 0; j < tiles.across / 8; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        slope[k / 2] = std::fma(weights[0][j][k], slopes[0][j][k], slope[k / 2]);
      }
    }
    if (is_larger) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float sum = sum_of_row(running.sum[0][h]);
        const float mean = sum_of_row(slope[h]) / (sum == 0 ? 1.0f : sum);
#pragma unroll
        for (int c = 0; c < kSize / 8; ++c) {
#pragma unroll
          for (int k = 2 * h; k < 2 * h + 2; ++k) {
            by_slope[0][c][k] = std::fma(guess[h] - mean, by_weight[0][c][k], by_slope[0][c][k]);
          }
        }
        guess[h] = mean;
      }
    }
    Products::begin_weighted(by_weight, weights, keys);
#pragma unroll
    for (int j = 0; j < tiles.across / 8; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        slopes[0][j][k] = (slopes[0][j][k] - guess[k / 2]) * weights[0][j][k];
      }
    }
    Products::begin_weighted(by_slope, slopes, keys);
    Products::template wait<0>(by_weight, by_slope);
  });
  float share[2];
  float correction[2];
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float sum = sum_of_row(running.sum[0][h]);
    share[h] = sum == 0 ? 0.0f : 1.0f / sum;
    const float mean = sum_of_row(slope[h]) * share[h];
    correction[h] = guess[h] - mean;
    share[h] *= static_cast<float>(a.scale);
    const int query = row + 8 * h + lane_of() / 4;
    if (query >= sight.n || lane_of() % 4 != 0) continue;
    facts_of(a, 0, block.head)[query] =
        sum == 0 ? 0.0f : running.shift(0, h) + std::log(sum) * kLog2OfE;
    facts_of(a, 1, block.head)[query] = mean;
  }
#pragma unroll
  for (int c = 0; c < kSize / 8; ++c) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      by_slope[0][c][k] = std::fma(correction[k / 2], by_weight[0][c][k], by_slope[0][c][k]);
    }
  }
  store_rows<T>(a.out, block.head, row, sight.n, a.d, by_slope,
                [&](int, int h, float sum) { return sum * share[h]; });
}

/// A fact of the two queries whose scores a lane has side by side.
struct alignas(8) FactPair {
  float of[2];
};

/// The gradients by k and v: rows that are kept are keys, and tiles of queries go by.
template <class T, AttentionTiles tiles>
inline void key_value_gradient_by_tiles(const AttentionArguments& a) {
  using Products = ProductsOf<T, tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kAcross = tiles.across;
  constexpr int kKept = tiles.rows() * kSize / TilePack<T>::kSize;
  constexpr int kTile = kAcross * kSize / TilePack<T>::kSize;
  static_assert(tiles.rows_of_warp == 16);
  TENURE_SHARED(TilePack<T>, k_tile);
  TilePack<T>* const v_tile = k_tile + kKept;
  TilePack<T>* const going_by = v_tile + kKept;
  auto* const facts = reinterpret_cast<float*>(going_by + 2 * tiles.stages * kTile);
  const Sight sight(a);
  const OwnBlock block(a, sight.m, tiles.rows(), false);
  const TileSources<T> head(a, block.head);
  const int begin = max(0, block.row - sight.reach);  // the first that sees a key of this block
  TileWalk<tiles, kAcross, T> next_queries(head.q, begin);
  TileWalk<tiles, kAcross, T> next_gradients(head.gradient, begin);
  FactsWalk<2, kAcross, tiles.threads()> next_facts(a, block.head, begin);
  const auto begin_queries = [&](int, int stage) {
    TilePack<T>* const at = going_by + 2 * stage * kTile;
    next_queries.begin(at);
    next_gradients.begin(at + kTile);
    next_facts.begin(facts + 2 * kAcross * stage);
  };
  const int row = block.row + warp_of() * tiles.rows_of_warp;
  const int first_row = block.row + Products::first_row();
  begin_tile<tiles, tiles.rows()>(k_tile, head.k, block.row);
  begin_tile<tiles, tiles.rows()>(v_tile, head.v, block.row);
  const float factor = exponent_of(a);
  float of_keys[1][kSize / 8][4] = {};
  float of_values[1][kSize / 8][4] = {};
  const typename Products::Kept keys(k_tile);
  const typename Products::Kept values(v_tile);
  for_each_tile<tiles>(begin, sight.n, begin_queries, [&](int query, int stage) {
    if (sight.keys_seen(query + kAcross - 1) <= first_row) return;
    const TilePack<T>* const queries = going_by + 2 * stage * kTile;
    const auto* const own_facts =
        reinterpret_cast<const FactPair*>(facts + 2 * kAcross * stage) + lane_of() % 4;
    float weights[1][kAcross / 8][4];
    float slopes[1][kAcross / 8][4];
    Products::begin_rows(weights, keys, queries);
    Products::begin_rows(slopes, values, queries + kTile);
    Products::template wait<1>(weights);
    if (a.mask_kind != 0 || query + kAcross > sight.n ||
        row + tiles.rows_of_warp > sight.keys_seen(query)) {
      hide_unseen<true>(a, sight, head.places.of[4], query, row, weights);
    }
#pragma unroll
    for (int j = 0; j < kAcross / 8; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        weights[0][j][k] =
            fast_exp2(std::fma(weights[0][j][k], factor, -own_facts[4 * j].of[k % 2]));
      }
    }
    Products::begin_weighted(of_values, weights, queries + kTile);
    Products::template wait<1>(slopes);
#pragma unroll
    for (int j = 0; j < kAcross / 8; ++j) {
#pragma unroll
      for (int k = 0; k < 4; ++k) {
        slopes[0][j][k] =
            (slopes[0][j][k] - own_facts[(kAcross + 8 * j) / 2].of[k % 2]) * weights[0][j][k];
      }
    }
    Products::begin_weighted(of_keys, slopes, queries);
    Products::template wait<0>(of_values, of_keys);
  });
  const auto scale = static_cast<float>(a.scale);
  store_rows<T>(a.out, block.head, row, sight.m, a.d, of_keys,
                [&](int, int, float sum) { return sum * scale; });
  store_rows<T>(a.out_of_values, block.head, row, sight.m, a.e, of_values,
                [](int, int, float sum) { return sum; });
}

// By the largest size of a head.

template <class T>
inline void attend_64(const AttentionArguments& a) {
  attend_by_tiles<T, kAttend64>(a);
}
template <class T>
inline void attend_128(const AttentionArguments& a) {
  attend_by_tiles<T, kAttend128>(a);
}
template <class T>
inline void query_gradient_64(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kGradient64>(a);
}
template <class T>
inline void query_gradient_128(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kGradient128>(a);
}
template <class T>
inline void key_value_gradient_64(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kGradient64>(a);
}
template <class T>
inline void key_value_gradient_128(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kGradient128>(a);
}

// By groups of warps.

template <class T>
inline void attend_by_groups_64(const AttentionArguments& a) {
  attend_by_tiles<T, kGroupsAttend64>(a);
}
template <class T>
inline void query_gradient_by_groups_64(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kGroupsGradient64>(a);
}
template <class T>
inline void key_value_gradient_by_groups_64(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kGroupsGradient64>(a);
}
template <class T>
inline void attend_by_groups_128(const AttentionArguments& a) {
  attend_by_tiles<T, kGroupsAttend128>(a);
}
template <class T>
inline void query_gradient_by_groups_128(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kGroupsGradient128>(a);
}
template <class T>
inline void key_value_gradient_by_groups_128(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kGroupsGradient128>(a);
}

}  // namespace tenure::kernels::cuda
