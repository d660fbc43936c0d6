#pragma once

#include <cstddef>
#include <cstdint>

namespace tenure::kernels::cuda {

/// Elements that a thread keeps in registers where it reads them one by one.
inline constexpr int kHeldElements = 8;

/// How the lanes of a group have the elements of a row. held.cuh says what that means.
enum RowForm : std::int32_t {
  kLoopedRows,     ///< one by one, read again each time
  kSingleRows,     ///< at most one of each lane, kept
  kSinglesRows,    ///< one by one, at most kHeldElements of a lane, kept
  kStripRows,      ///< at most one strip of 16 bytes of each lane, kept
  kQuarterRows,    ///< in strips, all lanes as many: a quarter of held_strips() or less, kept
  kHalfRows,       ///< the same, with half of held_strips()
  kMostRows,       ///< the same, with three quarters
  kPackedRows,     ///< the same, with all
  kRaggedRows,     ///< the same, where some lanes have one less
  kScatteredRows,  ///< the same, of elements that do not lie side by side
};
inline constexpr int kRowForms = 10;
/// Whether lanes have strips.
constexpr bool has_strips(RowForm form) { return form >= kStripRows; }

/// Elements of 16 bytes.
constexpr int strip_size(std::size_t element) { return static_cast<int>(16 / element); }
/// Strips that a thread keeps: 32 elements, or 128 bytes.
constexpr int held_strips(std::size_t element) { return element == 2 ? 4 : 8; }

}  // namespace tenure::kernels::cuda
