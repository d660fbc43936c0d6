#include "tenure/kernels/cpu/linalg/bidiagonal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "tenure/kernels/cpu/linalg/reflect.h"

namespace tenure::kernels::linalg {

BidiagonalValues::BidiagonalValues(Rooms& rooms, std::int64_t n, std::int64_t rows)
    : n_(n),
      left_{rooms.take<double>(n * spread(rows)), n, rows, spread(rows)},
      right_{rooms.take<double>(n * spread(n)), n, n, spread(n)},
      merge_(rooms, Gap::of_squares, n) {}

bool BidiagonalValues::run(const double* d, const double* e) {
  std::atomic<bool> found = true;
  for_leaves(n_, [&](std::int64_t begin, std::int64_t end) {
    if (!solve_leaf(begin, end, d, e)) found = false;
  });
  if (!found) return false;
  for_pairs(n_, [&](std::int64_t begin, std::int64_t middle, std::int64_t end) {
    join(begin, middle, end, d[middle - 1], e[middle - 1]);
  });
  return true;
}

/// The last row of each half, but for the last one of all, is of the value zero: its left vector is
/// a unit vector, its right one q is what all rows of the half map to nothing. The row left out of
/// the matrix has the numbers `on` and `beside` on both sides of the middle. A block may be smaller
/// than the matrix by any factor, and squares of its numbers then none: it is scaled meanwhile.
void BidiagonalValues::join(std::int64_t begin, std::int64_t middle, std::int64_t end, double on,
                            double beside) {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  const bool is_last = end == n_;
  const std::int64_t zero = middle - 1;
  const Block block{.begin = begin,
                    .middle = middle,
                    .end = end,
                    .rows_end = is_last ? end : end - 1,
                    .zero = zero};
  double* const z = merge_.z();
  double* const values = merge_.values();
  double largest = std::max(std::abs(on), std::abs(beside));
  for (std::int64_t i = begin; i < block.rows_end; ++i) largest = std::max(largest, values[i]);
  const double scale = scale_of(largest);
  for (std::int64_t i = begin; i < block.rows_end; ++i) values[i] /= scale;
  for (std::int64_t i = begin; i < end; ++i) {
    z[i] = i < middle ? on / scale * right_(i, middle - 1) : beside / scale * right_(i, middle);
  }
  // Both vectors q are turned so that one of them has all that the row has of both, and the other
  // is what all rows map to nothing now.
  Merge::Mixing rights;
  if (!is_last) {
    const double length = length_of(z[zero], z[end - 1]);
    rights.extra = end - 1;
    if (length > kShortest) {
      rights.zero_share = z[zero] / length;
      rights.extra_share = z[end - 1] / length;
    }
    z[zero] = length;
  }
  const Matrix<double> both[] = {left_, right_};
  merge_.deflate(block, 1, 4 * kEpsilon * (largest / scale), both);
  merge_.solve(1);
  merge_.mix(left_, block, {.times_values = true});
  merge_.mix(right_, block, rights);
  if (!is_last) {
    double* const unit = left_.row(end - 1);
    std::fill(unit + begin, unit + middle, 0.0);
    double* const q = right_.row(end - 1);
    for (std::int64_t j = begin; j < middle; ++j) {
      q[j] = -rights.extra_share * merge_.zero_before()[j];
    }
    for (std::int64_t j = middle; j < end; ++j) {
      q[j] = rights.zero_share * merge_.extra_before()[j];
    }
  }
  merge_.finish(block);
  for (std::int64_t i = begin; i < block.rows_end; ++i) values[i] *= scale;
}

}  // namespace tenure::kernels::linalg
