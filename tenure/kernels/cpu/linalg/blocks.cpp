#include "tenure/kernels/cpu/linalg/blocks.h"

#include <algorithm>
#include <limits>

#include "tenure/kernels/cpu/linalg/reflect.h"
#include "tenure/kernels/thread_limit.h"

namespace tenure::kernels::linalg {
namespace {

/// Rows that are reflected at a time: what products of them take is taken once.
constexpr std::int64_t kRows = 128;

/// Products of less work follow each other so closely that it is done before other threads wake.
constexpr double kWorthThreads = 1.5e6;

int threads_worth(const Matrix<double>& a, const Matrix<double>& b) {
  const double work =
      static_cast<double>(a.rows) * static_cast<double>(b.rows) * static_cast<double>(b.columns);
  return work < kWorthThreads ? 1 : std::numeric_limits<int>::max();
}

/// Calls `f(first, count)` for some of n rows at a time.
template <class F>
void by_rows(std::int64_t n, const F& f) {
  for (std::int64_t first = 0; first < n; first += kRows) f(first, std::min(kRows, n - first));
}

}  // namespace

Blocks::Blocks(Rooms& rooms, std::int64_t numbers, std::size_t product_bytes)
    : copy_(rooms.take<double>(kMost * numbers)),
      times_(rooms.take<double>(kMost * numbers)),
      squares_(rooms.take<double>(kMost * kMost)),
      triangle_(rooms.take<double>(kMost * kMost)),
      between_(rooms.take<double>(kRows * kMost)),
      products_({rooms.take<std::byte>(static_cast<std::int64_t>(product_bytes)), product_bytes}) {}

void Blocks::add(const Matrix<double>& c, const Matrix<double>& a, const Matrix<double>& b) {
  const ThreadLimit limit(threads_worth(a, b));
  products_.add(c, a, b);
}

/// -T of v v^T: column by column, T[0:i, i] = -factor[i] T[0:i, 0:i] (v v^T)[0:i, i].
void Blocks::make_triangle(std::int64_t n, const double* factors) {
  std::fill_n(triangle_, n * n, 0.0);
  for (std::int64_t i = 0; i < n; ++i) {
    // Row j of what is there times the numbers above i, which lie in row i as well.
    const double* const beside = squares_ + i * n;
    for (std::int64_t j = 0; j < i; ++j) {
      double sum = 0;
      for (std::int64_t k = j; k < i; ++k) sum += triangle_[j * n + k] * beside[k];
      triangle_[j * n + i] = -factors[i] * sum;
    }
    triangle_[i * n + i] = -factors[i];
  }
}

void Blocks::reflect(const Matrix<double>& v, const double* factors, Order order,
                     const Matrix<double>& vectors) {
  if (vectors.rows == 0) return;
  const ThreadLimit limit(threads_worth(vectors, v));
  const Matrix<double> squares = dense(squares_, v.rows, v.rows);
  const Matrix<double> triangle = dense(triangle_, v.rows, v.rows);
  const Matrix<double> times = dense(times_, v.rows, v.columns);
  products_.multiply(squares, v, v.transposed());
  if (!measures()) make_triangle(v.rows, factors);
  // A row x becomes x - (x V) T^T V^T by the product in order of the last to the first.
  products_.multiply(times, order == Order::last_to_first ? triangle.transposed() : triangle, v);
  by_rows(vectors.rows, [&](std::int64_t first, std::int64_t count) {
    const Matrix<double> some = vectors.part(first, 0, count, vectors.columns);
    const Matrix<double> between = dense(between_, count, v.rows);
    products_.multiply(between, some, v.transposed());
    products_.add(some, between, times);
  });
}

void Blocks::form(const Matrix<double>& rows, const double* factors) {
  const std::int64_t n = rows.rows;
  if (n <= kMost) {
    if (rows.data != nullptr) form_each(rows, factors);
    return;
  }
  for (std::int64_t first = (n - 1) / kMost * kMost; first >= 0; first -= kMost) {
    const std::int64_t count = std::min(kMost, n - first);
    const Matrix<double> v = dense(copy_, count, rows.columns - first);
    if (!measures()) {
      for (std::int64_t i = 0; i < count; ++i) {
        double* const row = rows.row(first + i);
        std::copy_n(row + first, v.columns, v.row(i));
        std::fill_n(row, rows.columns, 0.0);
        row[first + i] = 1;
      }
    }
    reflect(v, measures() ? nullptr : factors + first, Order::last_to_first,
            rows.part(first, first, n - first, v.columns));
  }
}

}  // namespace tenure::kernels::linalg
