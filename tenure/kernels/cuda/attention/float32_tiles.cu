#pragma once

#include "tenure/kernels/cuda/attention/sharers.cuh"

// Attention of float32, exactly, for heads of few columns (tiles.cuh).

namespace tenure::kernels::cuda {

template <class T, AttentionTiles tiles>
inline void attend_by_tiles(const AttentionArguments& a) {
  using Part = OwnPart<tiles>;
  constexpr int kSize = tiles.size;
  constexpr int kTile = tiles.across * kSize / 4;
  TENURE_SHARED(Pack4, q_tile);
  Pack4* const room = q_tile + tiles.rows() * kSize / 4;
  Pack4* const going_by = room + tiles.rows() * tiles.across / 4;
  const Sight sight(a);
  const OwnBlock block(a, sight.n, tiles.rows(), true);
  const TileSources<float> head(a, block.head);
  TileWalk<tiles, tiles.across, float> next_keys(head.k, 0);
  TileWalk<tiles, tiles.across, float> next_values(head.v, 0);
  const auto begin_keys = [&](int, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    next_keys.begin(at);
    next_values.begin(at + kTile);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  begin_tile<tiles, tiles.rows()>(q_tile, head.q, block.row);
  OwnWeights<tiles> running;
  float sums[Part::kRows][4] = {};
  for_each_tile<tiles>(0, seen, begin_keys, [&](int key, int stage) {
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
  const OwnBlock block(a, sight.n, tiles.rows(), true);
  const TileSources<float> head(a, block.head);
  TileWalk<tiles, tiles.across, float> next_keys(head.k, 0);
  TileWalk<tiles, tiles.across, float> next_values(head.v, 0);
  const auto begin_keys = [&](int, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    next_keys.begin(at);
    next_values.begin(at + kTile);
  };
  const int seen = sight.keys_seen(min(block.row + tiles.rows(), sight.n) - 1);
  begin_tile<tiles, tiles.rows()>(q_tile, head.q, block.row);
  begin_tile<tiles, tiles.rows()>(gradient_tile, head.gradient, block.row);
  OwnWeights<tiles> running;
  float by_slope[Part::kRows][4] = {};
  float by_weight[Part::kRows][4] = {};
  float slope[Part::kRows] = {};  // this thread's part of the sum
  float guess[Part::kRows] = {};
  for_each_tile<tiles>(0, seen, begin_keys, [&](int key, int stage) {
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
  const OwnBlock block(a, sight.m, tiles.rows(), false);
  const TileSources<float> head(a, block.head);
  const int begin = max(0, block.row - sight.reach);  // the first that sees a key of this block
  TileWalk<tiles, kAcross, float> next_queries(head.q, begin);
  TileWalk<tiles, kAcross, float> next_gradients(head.gradient, begin);
  FactsWalk<3, kAcross, tiles.threads()> next_facts(a, block.head, begin);
  const auto begin_queries = [&](int, int stage) {
    Pack4* const at = going_by + 2 * stage * kTile;
    next_queries.begin(at);
    next_gradients.begin(at + kTile);
    next_facts.begin(facts + 3 * kAcross * stage);
  };
  begin_tile<tiles, tiles.rows()>(k_tile, head.k, block.row);
  begin_tile<tiles, tiles.rows()>(v_tile, head.v, block.row);
  const Part own;
  float of_keys[Part::kRows][4] = {};
  float of_values[Part::kRows][4] = {};
  for_each_tile<tiles>(begin, sight.n, begin_queries, [&](int query, int stage) {
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

// By how many rows there are.

template <class T>
inline void attend_many(const AttentionArguments& a) {
  attend_by_tiles<T, kFloat32Many>(a);
}
template <class T>
inline void query_gradient_many(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kFloat32Many>(a);
}
template <class T>
inline void key_value_gradient_many(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kFloat32Many>(a);
}
template <class T>
inline void attend_few(const AttentionArguments& a) {
  attend_by_tiles<T, kFloat32Few>(a);
}
template <class T>
inline void query_gradient_few(const AttentionArguments& a) {
  query_gradient_by_tiles<T, kFloat32Few>(a);
}
template <class T>
inline void key_value_gradient_few(const AttentionArguments& a) {
  key_value_gradient_by_tiles<T, kFloat32Few>(a);
}

}  // namespace tenure::kernels::cuda
