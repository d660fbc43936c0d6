#pragma once

#include <cstddef>
#include <cstdint>

namespace tenure::kernels::cuda {

/// Elements that a thread keeps in registers where it reads them one by one.
inline constexpr int kHeldElements = 8;

inline constexpr unsigned kWarpLanes = 32;

/// How the lanes of a group have the elements of a row. held.cuh says what that means.
enum RowForm : std::int32_t {
  kLoopedRows,     ///< one by one, read again each time
  kSingleRows,     ///< at most one of each lane, kept
  kSinglesRows,    ///< one by one, at most kHeldElements of a lane, kept
  kStripRows,      ///< at most one strip of 16 bytes of each lane, kept
  kPackedRows,     ///< in strips, at most held_strips() of a lane, kept; each lane has as many
  kRaggedRows,     ///< the same, where some lanes have one less
  kScatteredRows,  ///< the same, of elements that do not lie side by side
  // In strips, so many of each lane of a warp, kept: all that is known beforehand.
  kWarp1Rows,
  kWarp2Rows,
  kWarp3Rows,
  kWarp4Rows,
  kWarp5Rows,
  kWarp6Rows,
  kWarp7Rows,
  kWarp8Rows,
};
inline constexpr int kRowForms = kWarp8Rows + 1;
/// Whether lanes have strips.
constexpr bool has_strips(RowForm form) { return form >= kStripRows; }

/// Elements of 16 bytes.
constexpr int strip_size(std::size_t element) { return static_cast<int>(16 / element); }
/// Strips that a thread keeps: 32 elements, or 128 bytes.
constexpr int held_strips(std::size_t element) { return element == 2 ? 4 : 8; }

}  // namespace tenure::kernels::cuda
