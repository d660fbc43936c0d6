#pragma once

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// The matrices of all heads, which begin where Places says; strides in elements.
struct AttentionMatrix {
  void* data;
  std::int64_t row;
  std::int64_t column;
};

/// Of attention or its gradients: q is n by d, k is m by d, v is m by e.
struct AttentionArguments {
  Places heads;  ///< of q, k, v, the gradient of the output, the mask
  AttentionMatrix q;
  AttentionMatrix k;
  AttentionMatrix v;
  AttentionMatrix gradient;
  AttentionMatrix mask;
  std::int64_t mask_kind;  ///< 0: none, 1: bool, true where a key is seen, 2: added
  std::int64_t n;
  std::int64_t m;
  std::int64_t d;
  std::int64_t e;
  std::int64_t causal;
  std::int64_t heads_together;  ///< blocks of so many heads take turns
  /// 1: every row of every matrix is at a multiple of 16 bytes, 2: and less than 4 GiB from a
  /// head's first one.
  std::int64_t in_packs;
  double scale;
  void* out;            ///< of all heads behind each other, rows behind each other
  void* out_of_values;  ///< the same, of a kernel that has the gradients of k and of v
  void* facts;          ///< of each query; the kernels that need them know what they are
};

/// How a kernel of tiles cuts its work; host and device both know.
struct AttentionTiles {
  int size;  ///< columns of a tile, which a head has at most
  int warps;
  int rows_of_warp;
  int across;              ///< rows of the tiles that go by
  int stages;              ///< of those that are worked on or on their way
  int blocks = 1;          ///< that a processor has room for, at least
  bool by_groups = false;  ///< whether four warps multiply together (products.cuh)
  int late = 0;            ///< how many tiles may still be read when the next one is worked on

  constexpr int threads() const { return 32 * warps; }
  /// Columns of a tile whose rows are behind each other; tiles of more have parts.
  constexpr int part() const { return by_groups ? 64 : size; }
  /// Rows that a block keeps.
  constexpr int rows() const { return rows_of_warp * warps; }
  /// Of shared memory: for so many matrices whose rows are kept, two whose tiles go by, rooms for
  /// weights, and facts of the queries in a tile.
  constexpr int bytes(int kept, int element_bytes, int rooms, int facts) const {
    constexpr int kFloat = sizeof(float);
    return (kept * rows() + 2 * stages * across) * size * element_bytes +
           rooms * rows() * across * kFloat + stages * facts * across * kFloat;
  }
};

// Of 16-bit floats, by tensor cores.
inline constexpr AttentionTiles kAttend64{
    .size = 64, .warps = 4, .rows_of_warp = 16, .across = 64, .stages = 2, .blocks = 4};
inline constexpr AttentionTiles kAttend128{
    .size = 128, .warps = 4, .rows_of_warp = 16, .across = 64, .stages = 2};
inline constexpr AttentionTiles kGradient64{
    .size = 64, .warps = 4, .rows_of_warp = 16, .across = 64, .stages = 2};
inline constexpr AttentionTiles kGradient128{
    .size = 128, .warps = 4, .rows_of_warp = 16, .across = 32, .stages = 2};
// The same where four warps multiply together.
inline constexpr AttentionTiles kGroupsAttend64{.size = 64,
                                                .warps = 4,
                                                .rows_of_warp = 16,
                                                .across = 64,
                                                .stages = 2,
                                                .blocks = 5,
                                                .by_groups = true};
inline constexpr AttentionTiles kGroupsAttend128{.size = 128,
                                                 .warps = 4,
                                                 .rows_of_warp = 16,
                                                 .across = 64,
                                                 .stages = 3,
                                                 .blocks = 2,
                                                 .by_groups = true,
                                                 .late = 1};
inline constexpr AttentionTiles kGroupsGradient64{.size = 64,
                                                  .warps = 4,
                                                  .rows_of_warp = 16,
                                                  .across = 64,
                                                  .stages = 2,
                                                  .blocks = 3,
                                                  .by_groups = true};
inline constexpr AttentionTiles kGroupsGradient128{
    .size = 128, .warps = 4, .rows_of_warp = 16, .across = 64, .stages = 2, .by_groups = true};
// Of float32: where there are more blocks than a GPU takes at once, and where there are not, by
// more threads. Both have the same bits.
inline constexpr AttentionTiles kFloat32Many{
    .size = 64, .warps = 4, .rows_of_warp = 8, .across = 64, .stages = 2};
inline constexpr AttentionTiles kFloat32Few{
    .size = 64, .warps = 8, .rows_of_warp = 4, .across = 64, .stages = 2};

}  // namespace tenure::kernels::cuda
