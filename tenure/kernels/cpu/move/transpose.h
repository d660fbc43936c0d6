#pragma once

#include <cstddef>
#include <cstdint>

namespace tenure::kernels {

/// Elements of one size in two layouts: `in` is contiguous along rows, `out` along columns.
struct Transposition {
  std::size_t element_size = 4;  ///< 1, 2, 4 or 8 bytes
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t in_column = 0;  ///< distance of neighbouring columns of `in`, in elements
  std::int64_t out_row = 0;    ///< distance of neighbouring rows of `out`
  bool stream = false;         ///< write past the caches, where the alignment allows
};

/// out[row, column] = in[row, column] for rows in [begin, end).
void copy_transposed(const Transposition& shape, const void* in, void* out, std::int64_t begin,
                     std::int64_t end);

/// How many rows fill a cache line of `in`: ranges of rows should begin at multiples of it.
constexpr std::int64_t transposed_rows(std::size_t element_size) {
  return static_cast<std::int64_t>(64 / element_size);
}

}  // namespace tenure::kernels
