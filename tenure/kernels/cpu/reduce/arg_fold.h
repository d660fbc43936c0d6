#pragma once

#include <cstdint>
#include <type_traits>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels::reduce {

/// Row numbers are as wide as the elements, so that both fill the same vectors.
template <class T>
using RowNumber = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;

/// Whether x replaces the best so far: the first of equals stays, NaN beats all numbers.
template <bool kMax, class T>
bool replaces(T x, T best) {
  const bool better = kMax ? x > best : x < best;
  return better | ((x != x) & (best == best));
}

/// Updates the best of `width` columns, and the rows they were found in, with `rows` more rows that
/// start at `first_row`.
using FoldBest = void (*)(void* best, void* best_row, const void* src, std::int64_t stride,
                          std::int64_t rows, std::int64_t width, std::int64_t first_row);

/// The best instance for this machine: of float32, float64 or int64. Throws DTypeError.
FoldBest find_fold_best(bool max, DType dtype);

}  // namespace tenure::kernels::reduce
