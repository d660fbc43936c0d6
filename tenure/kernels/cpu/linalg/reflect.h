#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/vectors.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels::linalg {

/// I - factor v v^T with v[0] = 1, which maps x to (first, 0, ...).
struct Reflection {
  double factor = 0;
  double first = 0;
};

/// Makes v of x, in place. No sum of squares overflows if no |x[i]| is above 1e150.
inline Reflection make_reflection(double* x, std::int64_t n) {
  if (n == 0) return {};
  const double rest = n == 1 ? 0 : dot(x + 1, x + 1, n - 1);
  const double head = x[0];
  x[0] = 1;
  if (rest == 0) return {.factor = 0, .first = head};
  const double norm = std::sqrt(head * head + rest);
  // Of the two reflections the one whose v does not cancel.
  const double first = head > 0 ? -norm : norm;
  const double scale = 1 / (head - first);
  for (std::int64_t i = 1; i < n; ++i) x[i] *= scale;
  return {.factor = (first - head) / first, .first = first};
}

/// How many vectors of n numbers are worth waking a thread: a multiple of what any vector register
/// holds, so that numbers which threads share by columns meet the same instructions on all of them.
inline std::int64_t vectors_per_thread(std::int64_t n) {
  constexpr std::int64_t kNumbers = 1 << 15;
  constexpr std::int64_t kLanes = 8;
  return (kNumbers / (n + 1) / kLanes + 1) * kLanes;
}

/// Reflects `count` vectors, `step` apart.
inline void reflect(const double* v, double factor, std::int64_t n, double* vectors,
                    std::int64_t step, std::int64_t count) {
  if (factor == 0) return;
  parallel_for(count, vectors_per_thread(n), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      double* const x = vectors + i * step;
      add_scaled(-factor * dot(v, x, n), v, x, n);
    }
  });
}

/// Reads a matrix, scaled so that its largest number is 1, column by column, or row by row if
/// `by_rows`. What it was divided by; NaN if a number is not finite, 1 if all are zero.
template <class T>
double read_scaled(const Matrix<T>& from, bool by_rows, double* to) {
  double largest = 0;
  bool is_finite = true;
  for (std::int64_t i = 0; i < from.rows; ++i) {
    for (std::int64_t j = 0; j < from.columns; ++j) {
      const auto size = static_cast<double>(std::abs(from(i, j)));
      is_finite &= std::isfinite(size);
      largest = size > largest ? size : largest;
    }
  }
  if (!is_finite) return std::numeric_limits<double>::quiet_NaN();
  const double scale = largest == 0 ? 1 : largest;
  for (std::int64_t i = 0; i < from.rows; ++i) {
    for (std::int64_t j = 0; j < from.columns; ++j) {
      to[by_rows ? i * from.columns + j : j * from.rows + i] =
          static_cast<double>(from(i, j)) / scale;
    }
  }
  return scale;
}

/// -1 if the number of largest size is negative, else 1: the sign that makes a vector unique.
inline double sign_of_largest(const double* x, std::int64_t n) {
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    // A tie but for rounding goes to the first.
    if (std::abs(x[i]) > std::abs(largest) * (1 + 1e-10)) largest = x[i];
  }
  return largest < 0 ? -1 : 1;
}

}  // namespace tenure::kernels::linalg
