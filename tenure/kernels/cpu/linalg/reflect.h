#pragma once

#include <algorithm>
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

/// Makes v of x, in place. No sum of squares overflows if no |x[i]| is above 1e150; what is so
/// small that squares have lost digits is taken for zero, which beside numbers of size 1 it is.
inline Reflection make_reflection(double* x, std::int64_t n) {
  if (n == 0) return {};
  const double rest = n == 1 ? 0 : dot(x + 1, x + 1, n - 1);
  const double head = x[0];
  x[0] = 1;
  constexpr double kNothing = 1e-290;
  if (rest < kNothing) return {.factor = 0, .first = head};
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

/// A tile of so many rows and columns is in the cache whichever way it is gone through.
inline constexpr std::int64_t kTile = 16;

/// Calls `f(row, column)` for all of a matrix, tile by tile.
template <class F>
void for_each_tile(std::int64_t rows, std::int64_t columns, const F& f) {
  for (std::int64_t i = 0; i < rows; i += kTile) {
    for (std::int64_t j = 0; j < columns; j += kTile) {
      for (std::int64_t row = i; row < std::min(rows, i + kTile); ++row) {
        for (std::int64_t column = j; column < std::min(columns, j + kTile); ++column) {
          f(row, column);
        }
      }
    }
  }
}

/// Rows with reflections, of which row i has zeros before its 1 in column i, become the first
/// columns of their product, in rows.
inline void form_each(const Matrix<double>& rows, const double* factors) {
  for (std::int64_t j = rows.rows - 1; j >= 0; --j) {
    double* const v = rows.row(j) + j;
    const std::int64_t n = rows.columns - j;
    reflect(v, factors[j], n, v + rows.row_step, rows.row_step, rows.rows - j - 1);
    for (std::int64_t i = 1; i < n; ++i) v[i] *= -factors[j];
    v[0] = 1 - factors[j];
  }
}

/// Numbers as small as shorter ones have lost digits, so that they are no sine and cosine when they
/// are divided by their length. Beside numbers of size 1 they are nothing.
inline constexpr double kShortest = 1e-290;

/// Of (a, b), without an overflow or an underflow that matters.
inline double length_of(double a, double b) {
  const double squares = a * a + b * b;
  constexpr double kLeast = 1e-280;
  constexpr double kMost = 1e280;
  return squares > kLeast && squares < kMost ? std::sqrt(squares) : std::hypot(a, b);
}

/// The power of two that a largest size is divided by to be in [1, 2); 1 of zero. Of a subnormal
/// size it is normal, so that one divided by it is finite.
inline double scale_of(double largest) {
  if (largest == 0) return 1;
  constexpr int kLeast = std::numeric_limits<double>::min_exponent - 1;
  return std::ldexp(1, std::max(std::ilogb(largest), kLeast));
}

/// Reads a matrix into one of its size, scaled so that its largest number is in [1, 2). What it was
/// divided by; NaN if a number is not finite, 1 if all are zero.
template <class T>
double read_scaled(const Matrix<T>& from, const Matrix<double>& to) {
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
  const double scale = scale_of(largest);
  const double factor = 1 / scale;
  const auto read = [&](const Matrix<T>& source, const Matrix<double>& neighbours) {
    for_each_tile(source.rows, source.columns, [&](std::int64_t i, std::int64_t j) {
      neighbours(i, j) = static_cast<double>(source(i, j)) * factor;
    });
  };
  to.column_step == 1 ? read(from, to) : read(from.transposed(), to.transposed());
  return scale;
}

/// A column of a result, and what it is to be multiplied by.
struct Column {
  const double* numbers;
  double factor;
};

/// Columns `column(j)` of a matrix, on all threads.
template <class T, class F>
void write_columns(const Matrix<T>& to, const F& column) {
  parallel_for(to.columns, vectors_per_thread(to.rows), [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; begin += kTile) {
      const std::int64_t n = std::min(kTile, end - begin);
      Column columns[kTile];
      for (std::int64_t j = 0; j < n; ++j) columns[j] = column(begin + j);
      if (to.row_step == 1) {
        for (std::int64_t j = 0; j < n; ++j) {
          T* const neighbours = to.transposed().row(begin + j);
          for (std::int64_t i = 0; i < to.rows; ++i) {
            neighbours[i] = static_cast<T>(columns[j].numbers[i] * columns[j].factor);
          }
        }
        continue;
      }
      for (std::int64_t i = 0; i < to.rows; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          to(i, begin + j) = static_cast<T>(columns[j].numbers[i] * columns[j].factor);
        }
      }
    }
  });
}

/// -1 if the number of largest size is negative, else 1: the sign that makes a vector unique.
inline double sign_of_largest(const double* x, std::int64_t n) {
  // A tie but for rounding goes to the first.
  const double nearly = largest_size(x, n) * (1 - 1e-10);
  std::int64_t i = 0;
  while (i + 1 < n && !(std::abs(x[i]) >= nearly)) ++i;
  return n > 0 && x[i] < 0 ? -1 : 1;
}

}  // namespace tenure::kernels::linalg
