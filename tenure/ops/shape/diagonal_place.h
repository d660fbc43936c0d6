#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "tenure/base/error.h"
#include "tenure/ops/core/attributes.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/tensor/shape.h"

namespace tenure::ops {

/// Where a diagonal lies in a tensor of this shape, from the attributes of the op. Throws
/// ValueError and IndexError.
struct DiagonalPlace {
  DiagonalPlace(const Shape& shape, const Attributes& a)
      : rows(normalize_axis(a.integer(DiagonalAttributes::axis_a), shape.size(), "diagonal")),
        columns(normalize_axis(a.integer(DiagonalAttributes::axis_b), shape.size(), "diagonal")) {
    if (rows == columns) throw ValueError("diagonal: the two axes are the same");
    std::int64_t more = a.integer(DiagonalAttributes::k);
    // Seen from the axis that comes first.
    const std::int64_t limit = std::max(shape[rows], shape[columns]);
    more = std::clamp(more, -limit, limit);
    if (rows > columns) {
      std::swap(rows, columns);
      more = -more;
    }
    k = more;
    first_row = std::min(std::max<std::int64_t>(-k, 0), shape[rows]);
    first_column = std::min(std::max<std::int64_t>(k, 0), shape[columns]);
    size = std::min(shape[rows] - first_row, shape[columns] - first_column);
  }

  int rows;     ///< the axis that comes first
  int columns;  ///< the other one
  std::int64_t k = 0;
  std::int64_t first_row = 0;
  std::int64_t first_column = 0;
  std::int64_t size = 0;
};

}  // namespace tenure::ops
