#pragma once

#include <cstddef>
#include <cstdint>

namespace tenure::kernels::cuda {

/// Elements that a thread keeps in registers where it reads them one by one.
inline constexpr int kHeldElements = 8;

/// How the lanes of a group have the elements of a row. held.cuh says what that means.
enum class RowForm : std::int32_t {
  looped,   ///< one by one, read again each time
  singles,  ///< one by one, at most kHeldElements of a lane, kept
  packed,   ///< in strips of 16 bytes, at most held_strips() of a lane, kept; each lane has as many
  ragged,   ///< the same, where some lanes have one less
  scattered,  ///< the same, of elements that do not lie side by side
};

/// Elements of 16 bytes.
constexpr int strip_size(std::size_t element) { return static_cast<int>(16 / element); }
/// Strips that a thread keeps: 32 elements, or 128 bytes.
constexpr int held_strips(std::size_t element) { return element == 2 ? 4 : 8; }

}  // namespace tenure::kernels::cuda
