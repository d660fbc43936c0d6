#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cuda/places/small_nest_arguments.h"

namespace tenure::kernels::cuda {

/// Loops of a copy: those of two shapes as many dimensions as there are, and more.
inline constexpr int kCopyDims = 16;
/// Of what is read and what is written.
using CopyNest = SmallNest<2, kCopyDims>;

/// Of a copy. A step of its nest is an element; or, where those of the innermost loop lie side by
/// side on both sides, a vector.
struct CopyArguments {
  const void* from;
  void* to;
  std::int32_t is_vectors;
  CopyNest nest;
};

/// Threads of a block that copies a tile.
inline constexpr int kTileThreads = 256;
/// Elements of the side of a tile, of so many bytes each: a row is 128 bytes, or 64.
constexpr int tile_side(std::size_t bytes) { return bytes <= 2 ? 64 : 32; }

/// Of a copy of matrices that are read by columns and written by rows, tile by tile. Columns lie
/// side by side where they are read, rows where they are written.
struct TilesArguments {
  const void* from;
  void* to;
  std::uint32_t rows;        ///< neighbours of a column, as it is read
  std::uint32_t columns;     ///< neighbours of a row, as it is written
  std::int64_t from_column;  ///< from one column to the next
  std::int64_t to_row;       ///< from one row to the next
  Divisor across;            ///< tiles of a matrix
  Divisor down;
  CopyNest matrices;
};

}  // namespace tenure::kernels::cuda
