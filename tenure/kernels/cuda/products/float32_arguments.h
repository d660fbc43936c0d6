#pragma once

#include <cstdint>

#include "tenure/kernels/cuda/places/places_arguments.h"

namespace tenure::kernels::cuda {

/// A tile of results that a block computes, and how its threads share it. A group of warps has all
/// of it, and its part of each slab of k.
struct TileShape {
  int rows;  ///< of a thread
  int columns;
  int lane_rows;  ///< of a warp: 4 or 8
  int warp_rows;  ///< of a group
  int warp_columns;
  int groups;
  int depth;   ///< of a slab
  int stages;  ///< slabs in shared memory

  constexpr int lane_columns() const { return 32 / lane_rows; }
  constexpr int warp_height() const { return rows * lane_rows; }
  constexpr int warp_width() const { return columns * lane_columns(); }
  constexpr int height() const { return warp_height() * warp_rows; }
  constexpr int width() const { return warp_width() * warp_columns; }
  constexpr int warps() const { return warp_rows * warp_columns; }  ///< of a group
  constexpr int threads() const { return 32 * warps() * groups; }
  constexpr int steps() const { return depth / groups; }  ///< of k, for a group in a slab

  /// Floats of an operand's slab, `size` lines of which run along k or side by side. Lines are 16
  /// bytes longer than need be, so that neighbours in a column are in different banks.
  constexpr int slab_floats(int size, bool runs) const {
    return runs ? size * (depth + 4) : depth * (size + 4);
  }
  constexpr int stage_floats(bool a_runs, bool b_runs) const {
    return slab_floats(height(), a_runs) + slab_floats(width(), b_runs);
  }
  constexpr int sum_line() const { return width() + 4; }
  constexpr int sum_floats() const { return height() * sum_line(); }  ///< of a group
  constexpr int shared_floats(bool a_runs, bool b_runs) const {
    const int slabs = stages * stage_floats(a_runs, b_runs);
    return slabs > groups * sum_floats() ? slabs : groups * sum_floats();
  }
};

inline constexpr TileShape kTile16{2, 4, 8, 1, 1, 8, 64, 3};
inline constexpr TileShape kTile32{4, 8, 8, 1, 1, 8, 32, 4};
inline constexpr TileShape kTile64x32{8, 4, 8, 1, 2, 4, 32, 3};
inline constexpr TileShape kTile64{8, 8, 8, 1, 2, 4, 32, 3};
inline constexpr TileShape kTile128x64{8, 8, 8, 2, 2, 2, 32, 3};

/// Of products of float32 over a batch; strides in elements. One stride of each operand is 1. The
/// results lie behind each other, rows of n elements.
struct Float32Product {
  const float* a;
  const float* b;
  float* c;
  std::int32_t m;
  std::int32_t n;
  std::int32_t k;
  std::int32_t part;      ///< of k, for each block of a cluster
  std::int64_t a_stride;  ///< the other one
  std::int64_t b_stride;
  bool a_by_vectors;  ///< all that a thread copies at once begins at a multiple of 16 bytes
  bool b_by_vectors;
  bool c_by_vectors;
  Places batch;  ///< of a and of b
};

}  // namespace tenure::kernels::cuda
