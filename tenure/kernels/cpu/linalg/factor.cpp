#include "tenure/kernels/cpu/linalg/factor.h"

#include <algorithm>
#include <cmath>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/linalg/lu_panel.h"

namespace tenure::kernels::linalg {
namespace {

/// Columns that loops factor or solve.
constexpr std::int64_t kSmall = kSmallTriangle;

/// The first half, a multiple of `block`.
std::int64_t half(std::int64_t n, std::int64_t block) {
  return std::max(block, n / 2 / block * block);
}

template <class T>
View view_of_matrix(const Matrix<T>& m) {
  return {.dtype = dtype_of<T>(),
          .shape = {m.rows, m.columns},
          .strides = {m.row_step, m.column_step},
          .data = m.data};
}

template <class T>
std::int64_t cholesky_loop(const Matrix<T>& a) {
  for (std::int64_t j = 0; j < a.rows; ++j) {
    T* const row = a.row(j);
    for (std::int64_t k = 0; k <= j; ++k) {
      T sum = row[k];
      const T* const other = a.row(k);
      for (std::int64_t p = 0; p < k; ++p) sum -= row[p] * other[p];
      if (k < j) {
        row[k] = sum / other[k];
      } else if (sum > 0 && std::isfinite(sum)) {
        row[j] = std::sqrt(sum);
      } else {
        return j;
      }
    }
  }
  return -1;
}

/// Rows of b = b L^-T.
template <class T>
void solve_rows(const Matrix<T>& lower, const Matrix<T>& b, Products<T>& products) {
  const std::int64_t n = lower.rows;
  if (n > kSmall) {
    const std::int64_t first = half(n, kSmall);
    const Matrix<T> left = b.part(0, 0, b.rows, first);
    const Matrix<T> right = b.part(0, first, b.rows, n - first);
    solve_rows(lower.part(0, 0, first, first), left, products);
    products.subtract(right, left, lower.part(first, 0, n - first, first).transposed());
    solve_rows(lower.part(first, first, n - first, n - first), right, products);
    return;
  }
  // Turned, b has neighbours where vectors go along.
  const std::int64_t step = spread(b.rows);
  const Matrix<T> turned{products.numbers(n * step), n, b.rows, step, 1};
  if (products.measures()) return;
  copy_matrix(b.transposed(), turned);
  solve_small_triangle(lower, Triangle::lower, turned);
  copy_matrix(turned, b.transposed());
}

/// The lower triangle of c -= a a^T, and little above.
template <class T>
void subtract_square(const Matrix<T>& c, const Matrix<T>& a, Products<T>& products) {
  constexpr std::int64_t kWhole = 64;
  const std::int64_t n = c.rows;
  if (n <= kWhole) return products.subtract(c, a, a.transposed());
  const std::int64_t first = half(n, kSmall);
  const Matrix<T> above = a.part(0, 0, first, a.columns);
  const Matrix<T> below = a.part(first, 0, n - first, a.columns);
  subtract_square(c.part(0, 0, first, first), above, products);
  products.subtract(c.part(first, 0, n - first, first), below, above.transposed());
  subtract_square(c.part(first, first, n - first, n - first), below, products);
}

template <class T>
void swap_rows(const Matrix<T>& a, const std::int64_t* pivots, std::int64_t begin,
               std::int64_t end) {
  for (std::int64_t i = begin; i < end; ++i) {
    if (pivots[i] != i) std::swap_ranges(a.row(i), a.row(i) + a.columns, a.row(pivots[i]));
  }
}

/// Of a matrix that is at least as high as wide.
template <class T>
std::int64_t lu_of_columns(const Matrix<T>& a, std::int64_t* pivots, Products<T>& products) {
  const std::int64_t n = a.columns;
  if (n == 0) return -1;
  if (n <= kPanel) {
    T* const room = products.numbers(lu_panel_room<T>(a.rows));
    return products.measures() ? -1 : lu_panel(a, pivots, room);
  }
  const std::int64_t first = half(n, kPanel);
  const std::int64_t rest = n - first;
  const Matrix<T> left = a.part(0, 0, a.rows, first);
  const Matrix<T> right = a.part(0, first, a.rows, rest);
  const Matrix<T> top = right.part(0, 0, first, rest);
  const Matrix<T> last = right.part(first, 0, a.rows - first, rest);
  const std::int64_t zero = lu_of_columns(left, pivots, products);
  if (!products.measures()) swap_rows(right, pivots, 0, first);
  solve_triangle(left.part(0, 0, first, first), Triangle::lower_unit, top, products);
  products.subtract(last, left.part(first, 0, a.rows - first, first), top);
  const std::int64_t zero_below = lu_of_columns(last, pivots + first, products);
  if (!products.measures()) {
    for (std::int64_t i = first; i < n; ++i) pivots[i] += first;
    swap_rows(left, pivots, first, n);
  }
  if (zero >= 0) return zero;
  return zero_below < 0 ? -1 : zero_below + first;
}

}  // namespace

template <class T>
void Products<T>::subtract(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b) {
  if (c.rows == 0 || c.columns == 0 || a.columns == 0) return;
  const View from_a = view_of_matrix(a);
  const View from_b = view_of_matrix(b);
  if (c.columns > 1) {
    const View to = view_of_matrix(c);
    if (has_room(from_a, from_b, to)) add_product(from_a, from_b, to, room_, Into::subtract);
    return;
  }
  // A vector is not added to at the speed of the memory.
  const auto product_bytes = round_up(static_cast<std::size_t>(c.rows) * sizeof(T), 64);
  const Matrix<T> product = dense(reinterpret_cast<T*>(room_.data()), c.rows, 1);
  const View to = view_of_matrix(product);
  if (measures()) {
    bytes_ = std::max(bytes_, product_bytes + matmul_workspace(from_a, from_b, to));
    return;
  }
  matmul(from_a, from_b, to, room_.subspan(product_bytes));
  for (std::int64_t i = 0; i < c.rows; ++i) c(i, 0) -= product(i, 0);
}

template <class T>
T* Products<T>::numbers(std::int64_t n) {
  bytes_ = std::max(bytes_, static_cast<std::size_t>(n) * sizeof(T));
  return reinterpret_cast<T*>(room_.data());
}

/// Whether there is room for a product now, or it was only measured.
template <class T>
bool Products<T>::has_room(const View& a, const View& b, const View& c) {
  const std::size_t bytes = matmul_workspace(a, b, c);
  if (measures()) {
    bytes_ = std::max(bytes_, bytes);
    return false;
  }
  internal_check(bytes <= room_.size(), "a product takes no more than was measured");
  return true;
}

template <class T>
void Products<T>::multiply(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b) {
  const View from_a = view_of_matrix(a);
  const View from_b = view_of_matrix(b);
  const View to = view_of_matrix(c);
  if (has_room(from_a, from_b, to)) matmul(from_a, from_b, to, room_);
}

template <class T>
void Products<T>::add(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b) {
  const View from_a = view_of_matrix(a);
  const View from_b = view_of_matrix(b);
  const View to = view_of_matrix(c);
  if (has_room(from_a, from_b, to)) add_product(from_a, from_b, to, room_, Into::add);
}

template <class T>
std::int64_t factor_cholesky(const Matrix<T>& a, Products<T>& products) {
  const std::int64_t n = a.rows;
  if (n <= kSmall) return products.measures() ? -1 : cholesky_loop(a);
  const std::int64_t first = half(n, kSmall);
  const Matrix<T> top = a.part(0, 0, first, first);
  const Matrix<T> below = a.part(first, 0, n - first, first);
  const Matrix<T> last = a.part(first, first, n - first, n - first);
  const std::int64_t failed = factor_cholesky(top, products);
  if (failed >= 0) return failed;
  solve_rows(top, below, products);
  subtract_square(last, below, products);
  const std::int64_t failed_below = factor_cholesky(last, products);
  return failed_below < 0 ? -1 : failed_below + first;
}

template <class T>
std::int64_t factor_lu(const Matrix<T>& a, std::int64_t* pivots, Products<T>& products) {
  return lu_of_columns(a, pivots, products);
}

template <class T>
void solve_triangle(const Matrix<T>& a, Triangle triangle, const Matrix<T>& b,
                    Products<T>& products) {
  const bool is_upper = triangle == Triangle::upper || triangle == Triangle::upper_unit;
  const std::int64_t n = a.rows;
  if (n <= kSmall) {
    if (!products.measures()) solve_small_triangle(a, triangle, b);
    return;
  }
  const std::int64_t first = half(n, kSmall);
  const Matrix<T> corner = a.part(0, 0, first, first);
  const Matrix<T> last = a.part(first, first, n - first, n - first);
  const Matrix<T> above = b.part(0, 0, first, b.columns);
  const Matrix<T> below = b.part(first, 0, n - first, b.columns);
  if (is_upper) {
    solve_triangle(last, triangle, below, products);
    products.subtract(above, a.part(0, first, first, n - first), below);
    solve_triangle(corner, triangle, above, products);
  } else {
    solve_triangle(corner, triangle, above, products);
    products.subtract(below, a.part(first, 0, n - first, first), above);
    solve_triangle(last, triangle, below, products);
  }
}

#define TENURE_FACTORS(T)                                                         \
  template class Products<T>;                                                     \
  template std::int64_t factor_cholesky(const Matrix<T>&, Products<T>&);          \
  template std::int64_t factor_lu(const Matrix<T>&, std::int64_t*, Products<T>&); \
  template void solve_triangle(const Matrix<T>&, Triangle, const Matrix<T>&, Products<T>&);
TENURE_FACTORS(float)
TENURE_FACTORS(double)
#undef TENURE_FACTORS

}  // namespace tenure::kernels::linalg
