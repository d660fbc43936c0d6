#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/products/pieces_arguments.h"

namespace tenure::kernels::cuda {

/// Neighbours have neighbouring elements, which may begin anywhere; each has one of several rows in
/// flight.
inline void copy_piece(const PieceArguments& a) {
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (column >= a.filled) return;
  const auto* const from = static_cast<const std::uint16_t*>(a.from) + column;
  auto* const to = static_cast<std::uint16_t*>(a.to) + column;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * kPieceRows; first < a.rows;
       first += static_cast<std::int64_t>(gridDim.y) * kPieceRows) {
    std::uint16_t values[kPieceRows] = {};
    for (int r = 0; r < kPieceRows; ++r) {
      if (column < a.columns && first + r < a.rows) values[r] = from[(first + r) * a.from_row];
    }
    for (int r = 0; r < kPieceRows; ++r) {
      if (first + r < a.rows) to[(first + r) * a.to_row] = values[r];
    }
  }
}

}  // namespace tenure::kernels::cuda
