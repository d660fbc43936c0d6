#include <algorithm>
#include <cmath>
#include <utility>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Reflections from both sides leave two diagonals (Golub and Kahan); what has the singular values
// of those (bidiagonal.h) has their vectors, which are reflected back.

namespace tenure::kernels::linalg {
SingularValues::SingularValues(Rooms& rooms, std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      panel_(panel_of(columns)),
      a_{rooms.take<double>(columns * spread(rows)), columns, rows, spread(rows)},
      on_(rooms.take<double>(columns)),
      beside_(rooms.take<double>(columns)),
      left_factors_(rooms.take<double>(columns)),
      right_factors_(rooms.take<double>(columns)),
      tall_pairs_(rooms.take<double>(2 * panel_ * rows)),
      wide_pairs_(rooms.take<double>(std::max(2 * panel_, Blocks::kMost) * columns)),
      earlier_(rooms, 2 * panel_, rows),
      bidiagonal_(std::in_place, rooms, columns, rows) {
  if (columns <= Blocks::kMost) return;
  SingularValues measured(rows, columns);
  measured.bidiagonalize();
  measured.reflect_back({nullptr, columns, rows, bidiagonal_->lefts().row_step, 1},
                        {nullptr, columns, columns, bidiagonal_->rights().row_step, 1});
  blocks_ = Blocks(rooms, rows, measured.blocks_.product_bytes());
}

SingularValues::SingularValues(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      panel_(panel_of(columns)),
      a_{nullptr, columns, rows, spread(rows)},
      on_(nullptr),
      beside_(nullptr),
      left_factors_(nullptr),
      right_factors_(nullptr),
      tall_pairs_(nullptr),
      wide_pairs_(nullptr) {}

bool SingularValues::run() {
  bidiagonalize();
  if (!bidiagonal_->run(on_, beside_)) return false;
  const Matrix<double>& left = bidiagonal_->lefts();
  for (std::int64_t i = 0; i < columns_; ++i) {
    std::fill(left.row(i) + columns_, left.row(i) + rows_, 0.0);
  }
  reflect_back(left, bidiagonal_->rights());
  return true;
}

// A reflection of columns is v and y: it adds v y^T to the matrix. One of rows is x and u: it adds
// x u^T. Those of a panel are added to its first columns and rows as they are needed, and to the
// rest at once.

void SingularValues::bidiagonalize() {
  for (std::int64_t first = 0; first < columns_; first += panel_) {
    const std::int64_t count = std::min(panel_, columns_ - first);
    const std::int64_t rest = first + count;
    if (!measures()) {
      for (std::int64_t i = 0; i < count; ++i) {
        reduce_column(first + i, i);
        reduce_row(first + i, i);
      }
    }
    const Matrix<double> wide = dense(wide_pairs_, 2 * count, columns_);
    const Matrix<double> tall = dense(tall_pairs_, 2 * count, rows_);
    if (rest == columns_) return;
    blocks_.add(a_.part(rest, rest, columns_ - rest, rows_ - rest),
                wide.part(0, rest, 2 * count, columns_ - rest).transposed(),
                tall.part(0, rest, 2 * count, rows_ - rest));
  }
}

void SingularValues::reduce_column(std::int64_t k, std::int64_t at) {
  const Matrix<double> tall = dense(tall_pairs_, 2 * panel_, rows_);
  const Matrix<double> wide = dense(wide_pairs_, 2 * panel_, columns_);
  const std::int64_t below = rows_ - k;
  const std::int64_t beyond = columns_ - k - 1;
  double* const column = a_.row(k) + k;
  const Matrix<double> earlier = tall.part(0, k, 2 * at, below);
  earlier_.add(earlier, &wide(0, k), wide.row_step, column);
  const Reflection left = make_reflection(column, below);
  on_[k] = left.first;
  left_factors_[k] = left.factor;
  double* const v = tall.row(2 * at);
  std::fill_n(v, k, 0.0);
  std::copy_n(column, below, v + k);
  double* const y = wide.row(2 * at);
  std::fill_n(y, columns_, 0.0);
  if (left.factor == 0 || beyond == 0) return;
  double* const sums = y + k + 1;
  multiply(a_.part(k + 1, k, beyond, below), v + k, sums);
  earlier_.add(wide.part(0, k + 1, 2 * at, beyond), earlier, v + k, sums);
  for (std::int64_t j = 0; j < beyond; ++j) sums[j] *= -left.factor;
}

void SingularValues::reduce_row(std::int64_t k, std::int64_t at) {
  const Matrix<double> tall = dense(tall_pairs_, 2 * panel_, rows_);
  const Matrix<double> wide = dense(wide_pairs_, 2 * panel_, columns_);
  const std::int64_t below = rows_ - k - 1;
  const std::int64_t beyond = columns_ - k - 1;
  double* const x = tall.row(2 * at + 1);
  double* const u = wide.row(2 * at + 1);
  std::fill_n(x, rows_, 0.0);
  std::fill_n(u, columns_, 0.0);
  beside_[k] = 0;
  right_factors_[k] = 0;
  if (beyond == 0) return;
  double* const row = u + k + 1;
  for (std::int64_t j = 0; j < beyond; ++j) row[j] = a_(k + 1 + j, k);
  const Matrix<double> earlier = wide.part(0, k + 1, 2 * at + 1, beyond);
  earlier_.add(earlier, &tall(0, k), tall.row_step, row);
  const Reflection right = make_reflection(row, beyond);
  beside_[k] = right.first;
  right_factors_[k] = right.factor;
  for (std::int64_t j = 0; j < beyond; ++j) a_(k + 1 + j, k) = row[j];
  if (right.factor == 0 || below == 0) return;
  double* const sums = x + k + 1;
  multiply(a_.part(k + 1, k + 1, beyond, below).transposed(), row, sums);
  earlier_.add(tall.part(0, k + 1, 2 * at + 1, below), earlier, row, sums);
  for (std::int64_t j = 0; j < below; ++j) sums[j] *= -right.factor;
}

void SingularValues::reflect_back(const Matrix<double>& left, const Matrix<double>& right) {
  const auto by_blocks = [&](std::int64_t n, const auto& f) {
    for (std::int64_t first = (n - 1) / Blocks::kMost * Blocks::kMost; first >= 0 && n > 0;
         first -= Blocks::kMost) {
      f(first, std::min(Blocks::kMost, n - first));
    }
  };
  // Those of rows first: of blocks of the others all before the diagonal becomes zero.
  by_blocks(columns_ - 1, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t n = columns_ - 1 - first;
    const Matrix<double> v = dense(wide_pairs_, count, n);
    if (!measures()) copy_matrix(a_.part(first + 1, first, n, count).transposed(), v);
    reflect(v, right_factors_ + first, right.part(0, first + 1, columns_, n));
  });
  by_blocks(columns_, [&](std::int64_t first, std::int64_t count) {
    const std::int64_t n = rows_ - first;
    reflect(a_.part(first, first, count, n), left_factors_ + first,
            left.part(0, first, columns_, n));
  });
}

void SingularValues::reflect(const Matrix<double>& v, const double* factors,
                             const Matrix<double>& vectors) {
  if (!measures()) {
    for (std::int64_t i = 0; i < v.rows; ++i) std::fill_n(v.row(i), i, 0.0);
  }
  if (columns_ > Blocks::kMost) {
    blocks_.reflect(v, factors, Blocks::Order::last_to_first, vectors);
    return;
  }
  for (std::int64_t i = v.rows - 1; i >= 0; --i) {
    linalg::reflect(v.row(i) + i, factors[i], v.columns - i, vectors.data + i, vectors.row_step,
                    vectors.rows);
  }
}

}  // namespace tenure::kernels::linalg
