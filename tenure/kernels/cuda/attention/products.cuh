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
  /// Own rows of a tile, as the left of products.
  struct Kept {
    const TilePack<T>* rows;

    explicit Kept(const TilePack<T>* tile)
        : rows(tile + first_row() * (tiles.size / TilePack<T>::kSize)) {}
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
  static constexpr int kRowBytes = 128;  ///< of a part of a tile

  static int first_row() { return warp_of() / 4 * kRows; }
  /// Those of 64 columns.
  template <int n>
  static float (&some_of(float (&sums)[n][4], int first))[8][4] {
    return reinterpret_cast<float(&)[8][4]>(sums[first]);
  }
  /// Of a tile of so many rows, how many bytes before columns from 16 * step on there are.
  static constexpr unsigned bytes_before(int rows, int step) {
    return static_cast<unsigned>(step / 4 * rows * kRowBytes + step % 4 * 32);
  }

  /// In lanes they would take registers, which are for blocks, and NVRTC 13.0 gives those away
  /// where a loop wants them again.
  struct Kept {
    SharedMatrix rows;

    explicit Kept(const TilePack<T>* tile)
        : rows(tile + first_row() * (kRowBytes / sizeof(TilePack<T>))) {}
  };
  template <int n>
  static void begin_rows(float (&products)[1][n][4], const Kept& kept, const TilePack<T>* tile) {
    const SharedMatrix right(tile);
    order_registers(products[0]);
#pragma unroll
    for (int step = 0; step < tiles.size / 16; ++step) {
#pragma unroll
      for (int j = 0; j < n; j += 8) {
        begin_products<T>(some_of(products[0], j),
                          kept.rows.behind(bytes_before(tiles.rows(), step)),
                          right.behind(bytes_before(tiles.across, step) + 8 * j * kRowBytes),
                          step > 0);
      }
    }
    end_products();
  }
  template <int n>
  static void begin_weighted(float (&sums)[1][tiles.size / 8][4], const float (&weights)[1][n][4],
                             const TilePack<T>* tile) {
    const SharedMatrix right(tile);
    unsigned left[n / 2][4];
#pragma unroll
    for (int j = 0; j < n / 2; ++j) as_left<T>(left[j], weights[0], 2 * j);
    order_registers(sums[0], left);
#pragma unroll
    for (int c = 0; c < tiles.size / 8; c += 8) {
#pragma unroll
      for (int j = 0; j < n / 2; ++j) {
        begin_added_products<T>(some_of(sums[0], c), left[j],
                                right.behind((c / 8 * tiles.across + 16 * j) * kRowBytes));
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
