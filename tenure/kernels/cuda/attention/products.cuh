#pragma once

#include "tenure/kernels/cuda/attention/warps.cuh"

// Who multiplies tiles: each warp for itself, at once, or four together, which go on meanwhile and
// wait for the sums where they need them. Both have the same rows in the same lanes. Kernels are
// written for those that wait.

namespace tenure::kernels::cuda {

/// Products of warps, each for itself.
template <class T, AttentionTiles tiles>
struct WarpProducts {
  static constexpr int kRows = tiles.rows_of_warp;  ///< that come together
  static constexpr int kM = kRows / 16;

  /// The first of the rows that come together, among those of a block.
  static int first_row() { return warp_of() * kRows; }
  /// Own rows of a tile, which are the left of products after load().
  struct Kept {
    const TilePack<T>* rows;

    explicit Kept(const TilePack<T>* tile)
        : rows(tile + first_row() * (tiles.size / TilePack<T>::kSize)) {}
    void load() {}
  };
  template <int m, int n>
  static void begin_rows(float (&products)[m][n][4], const Kept& kept, const TilePack<T>* tile) {
    multiply_rows<tiles.size>(products, kept.rows, tile);
  }
  template <int m, int n>
  static void begin_weighted(float (&sums)[m][tiles.size / 8][4], const float (&weights)[m][n][4],
                             const TilePack<T>* tile) {
    add_weighted<tiles.size>(sums, weights, tile);
  }
  template <int others, class... Sums>
  static void wait(Sums&...) {}
};

/// Products of groups of four warps (device/wgmma.cuh).
template <class T, AttentionTiles tiles>
struct GroupProducts {
  static_assert(tiles.size % 64 == 0 && tiles.rows_of_warp == 16 && tiles.warps % 4 == 0);
  static constexpr int kRows = 64;
  static constexpr int kM = 1;
  static constexpr int kPacks = 8;  ///< of a row of a part of a tile
  static constexpr int kSteps = tiles.size / 16;

  static int first_row() { return warp_of() / 4 * kRows; }
  /// Where columns from 16 * step on are, of a tile of so many rows.
  static const TilePack<T>* columns_at(const TilePack<T>* tile, int rows, int step) {
    return tile + step / 4 * rows * kPacks + step % 4 * 2;
  }
  struct KeptInLanes {
    const TilePack<T>* tile;
    unsigned left[kSteps][4];

    explicit KeptInLanes(const TilePack<T>* kept) : tile(kept) {}
    void load() {
      const int lane = lane_of();
      const int row = warp_of() * 16 + lane % 16;
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        load_matrices(left[step], tile + step / 4 * tiles.rows() * kPacks + row * kPacks +
                                      ((step % 4 * 2 + lane / 16) ^ lane % 8));
      }
    }
    template <int n>
    void order(float (&products)[n][4]) {
      order_registers(products, left);
    }
    const unsigned (&at(int step) const)[4] { return left[step]; }
  };
  struct KeptInTile {
    const TilePack<T>* tile;

    explicit KeptInTile(const TilePack<T>* kept) : tile(kept + first_row() * kPacks) {}
    void load() {}
    template <int n>
    void order(float (&products)[n][4]) {
      order_registers(products);
    }
    const TilePack<T>* at(int step) const { return columns_at(tile, tiles.rows(), step); }
  };
  using Kept = std::conditional_t<tiles.keeps_in_lanes, KeptInLanes, KeptInTile>;

  template <int n>
  static void begin_rows(float (&products)[1][n][4], Kept& kept, const TilePack<T>* tile) {
    kept.order(products[0]);
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
      begin_products<T, false>(products[0], kept.at(step), columns_at(tile, tiles.across, step),
                               step > 0);
    }
    end_products();
  }
  template <int n>
  static void begin_weighted(float (&sums)[1][tiles.size / 8][4], const float (&weights)[1][n][4],
                             const TilePack<T>* tile) {
    unsigned left[n / 2][4];
#pragma unroll
    for (int j = 0; j < n / 2; ++j) as_left<T>(left[j], weights[0], 2 * j);
    order_registers(sums[0], left);
#pragma unroll
    for (int c = 0; c < tiles.size / 8; c += 8) {
      auto& part = reinterpret_cast<float(&)[8][4]>(sums[0][c]);
#pragma unroll
      for (int j = 0; j < n / 2; ++j) {
        begin_products<T, true>(part, left[j], tile + (c * tiles.across + 16 * j * kPacks), true);
      }
    }
    end_products();
  }
  /// Waits for what was begun, but the last `others`: `sums` are there then.
  template <int others, class... Sums>
  static void wait(Sums&... sums) {
    wait_for_products<others>();
    (settle(sums[0]), ...);
  }
};

template <class T, AttentionTiles tiles>
using ProductsOf =
    std::conditional_t<tiles.by_groups, GroupProducts<T, tiles>, WarpProducts<T, tiles>>;

}  // namespace tenure::kernels::cuda
