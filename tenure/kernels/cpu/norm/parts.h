#pragma once

#include <algorithm>
#include <cstdint>

// Sums over rows are taken in parts, whose number depends on the rows alone.

namespace tenure::kernels::norm {

inline constexpr std::int64_t kGrain = 1 << 14;  ///< elements

inline std::int64_t rows_per_part(std::int64_t rows) {
  return std::max<std::int64_t>(64, (rows + 15) / 16);
}
inline std::int64_t parts_of(std::int64_t rows) {
  return (rows + rows_per_part(rows) - 1) / rows_per_part(rows);
}
/// How many parts, or rows, a thread takes at a time at least.
inline std::int64_t grain_of(std::int64_t elements_of_each) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, elements_of_each));
}

}  // namespace tenure::kernels::norm
