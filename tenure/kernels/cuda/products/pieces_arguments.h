#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// A copy of 16-bit elements from rows to rows, which get zeros behind them up to `filled`.
struct PieceArguments {
  const void* from;
  void* to;
  std::int64_t rows;
  std::int64_t columns;
  std::int64_t filled;
  std::int64_t from_row;  ///< from row to row
  std::int64_t to_row;
};
/// Rows that a block has at a time; as wide as it has threads.
inline constexpr int kPieceRows = 8;

}  // namespace tenure::kernels::cuda
