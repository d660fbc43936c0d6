#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Golub and Kahan: reflections from both sides leave two diagonals, rotations from both sides one.

namespace tenure::kernels::linalg {
namespace {

/// (a, b) is turned to (length, 0).
struct Rotation {
  double cosine = 1;
  double sine = 0;
  double length = 0;

  Rotation(double a, double b) : length(length_of(a, b)) {
    if (length == 0) return;
    cosine = a / length;
    sine = b / length;
  }
};

/// y becomes a x, for a matrix whose numbers of a row, or of a column, are neighbours.
void multiply(const Matrix<double>& a, const double* x, double* y) {
  const Gemm shape{.m = a.rows,
                   .n = 1,
                   .k = a.columns,
                   .a_row = a.row_step,
                   .a_column = a.column_step,
                   .b_row = 1,
                   .b_column = 1,
                   .c_row = 1};
  gemv(DType::float64, shape, a.data, x, y);
}

}  // namespace

SingularValues::SingularValues(Rooms& rooms, std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      panel_(panel_of(columns)),
      a_(rooms.take<double>(Turns::strip_numbers(columns, rows))),
      u_(rooms.take<double>(rows * columns)),
      v_(rooms.take<double>(columns * columns)),
      v_strips_(rooms.take<double>(Turns::strip_numbers(columns, columns))),
      values_(rooms.take<double>(columns)),
      beside_(rooms.take<double>(columns)),
      left_factors_(rooms.take<double>(columns)),
      right_factors_(rooms.take<double>(columns)),
      tall_pairs_(rooms.take<double>(2 * panel_ * rows)),
      wide_pairs_(rooms.take<double>(2 * panel_ * columns)),
      order_(rooms.take<std::int64_t>(columns)),
      u_turns_(std::in_place, rooms, columns, rows, a_),
      v_turns_(std::in_place, rooms, columns, columns, v_strips_) {
  if (columns <= Blocks::kMost) return;
  SingularValues measured(rows, columns);
  measured.bidiagonalize();
  measured.form();
  blocks_ = Blocks(rooms, rows, measured.blocks_.product_bytes());
}

SingularValues::SingularValues(std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      panel_(panel_of(columns)),
      a_(nullptr),
      u_(nullptr),
      v_(nullptr),
      v_strips_(nullptr),
      values_(nullptr),
      beside_(nullptr),
      left_factors_(nullptr),
      right_factors_(nullptr),
      tall_pairs_(nullptr),
      wide_pairs_(nullptr),
      order_(nullptr) {}

bool SingularValues::run() {
  bidiagonalize();
  form();
  u_turns_->read(u_);
  v_turns_->read(v_);
  const bool found = diagonalize();
  u_turns_->write(u_);
  v_turns_->write(v_);
  if (found) sort();
  return found;
}

// A reflection of columns is v and y: the matrix loses v y^T by it. One of rows is x and u: it
// loses x u^T. Those of a panel are taken from its first columns and rows as they are needed, and
// from the rest at once.

void SingularValues::bidiagonalize() {
  const Matrix<double> turned = dense(a_, columns_, rows_);
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
    blocks_.subtract(turned.part(rest, rest, columns_ - rest, rows_ - rest),
                     wide.part(0, rest, 2 * count, columns_ - rest).transposed(),
                     tall.part(0, rest, 2 * count, rows_ - rest));
  }
}

void SingularValues::reduce_column(std::int64_t k, std::int64_t at) {
  const Matrix<double> tall = dense(tall_pairs_, 2 * panel_, rows_);
  const Matrix<double> wide = dense(wide_pairs_, 2 * panel_, columns_);
  const std::int64_t below = rows_ - k;
  const std::int64_t beyond = columns_ - k - 1;
  double* const column = a_ + k * rows_ + k;
  for (std::int64_t i = 0; i < 2 * at; ++i) {
    add_scaled(-wide(i, k), tall.row(i) + k, column, below);
  }
  const Reflection left = make_reflection(column, below);
  values_[k] = left.first;
  left_factors_[k] = left.factor;
  double* const v = tall.row(2 * at);
  std::fill_n(v, k, 0.0);
  std::copy_n(column, below, v + k);
  double* const y = wide.row(2 * at);
  std::fill_n(y, columns_, 0.0);
  if (left.factor == 0 || beyond == 0) return;
  double* const sums = y + k + 1;
  multiply({column + rows_, beyond, below, rows_, 1}, v + k, sums);
  for (std::int64_t i = 0; i < 2 * at; ++i) {
    add_scaled(-dot(tall.row(i) + k, v + k, below), wide.row(i) + k + 1, sums, beyond);
  }
  for (std::int64_t j = 0; j < beyond; ++j) sums[j] *= left.factor;
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
  const double* const numbers = a_ + (k + 1) * rows_ + k;
  for (std::int64_t j = 0; j < beyond; ++j) row[j] = numbers[j * rows_];
  for (std::int64_t i = 0; i <= 2 * at; ++i) {
    add_scaled(-tall(i, k), wide.row(i) + k + 1, row, beyond);
  }
  const Reflection right = make_reflection(row, beyond);
  beside_[k] = right.first;
  right_factors_[k] = right.factor;
  // It is kept where V will be.
  std::copy_n(u, columns_, v_ + (k + 1) * columns_);
  if (right.factor == 0 || below == 0) return;
  double* const sums = x + k + 1;
  multiply({a_ + (k + 1) * rows_ + k + 1, below, beyond, 1, rows_}, row, sums);
  for (std::int64_t i = 0; i <= 2 * at; ++i) {
    add_scaled(-dot(wide.row(i) + k + 1, row, beyond), tall.row(i) + k + 1, sums, below);
  }
  for (std::int64_t j = 0; j < below; ++j) sums[j] *= right.factor;
}

void SingularValues::form() {
  if (!measures()) {
    for (std::int64_t k = 0; k < columns_; ++k) {
      std::fill_n(u_ + k * rows_, k, 0.0);
      std::copy_n(a_ + k * rows_ + k, rows_ - k, u_ + k * rows_ + k);
    }
    std::fill_n(v_, columns_, 0.0);
    if (columns_ > 0) v_[0] = 1;
  }
  blocks_.form(dense(u_, columns_, rows_), left_factors_);
  if (columns_ < 2) return;
  // Its first row is that of the unit matrix, and reflection k is row k + 1 at first.
  const std::int64_t n = columns_ - 1;
  blocks_.form(dense(v_, columns_, columns_).part(1, 1, n, n), right_factors_);
}

bool SingularValues::diagonalize() {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int kMost = 60;  // steps for one value; two or three are usual
  double* const d = values_;
  double* const e = beside_;
  double largest = 0;
  for (std::int64_t i = 0; i < columns_; ++i) {
    largest = std::max({largest, std::abs(d[i]), std::abs(e[i])});
  }
  const double nothing = kEpsilon * largest;
  for (std::int64_t last = columns_ - 1; last >= 0; --last) {
    for (int tries = 0;; ++tries) {
      std::int64_t first = last;
      std::int64_t zero = std::abs(d[last]) <= nothing / 4 ? last : -1;
      while (first > 0 &&
             std::abs(e[first - 1]) > kEpsilon * (std::abs(d[first - 1]) + std::abs(d[first])) &&
             std::abs(e[first - 1]) > nothing / 16) {
        --first;
        if (std::abs(d[first]) <= nothing / 4) {
          zero = first;
          break;
        }
      }
      if (first > 0 && zero != first) e[first - 1] = 0;
      if (first == last) break;
      if (tries == kMost) return false;
      if (zero >= 0) {
        split(zero, first, last);
      } else {
        step(first, last);
      }
    }
  }
  return true;
}

/// Value `zero` is none: takes the number beside it away.
void SingularValues::split(std::int64_t zero, std::int64_t first, std::int64_t last) {
  double* const d = values_;
  double* const e = beside_;
  d[zero] = 0;
  if (zero == last) {
    double f = e[last - 1];
    e[last - 1] = 0;
    for (std::int64_t k = last - 1; k >= first && f != 0; --k) {
      const Rotation turn(d[k], f);
      d[k] = turn.length;
      if (k > first) {
        f = -turn.sine * e[k - 1];
        e[k - 1] *= turn.cosine;
      }
      v_turns_->begin(k, last - k);
      v_turns_->add(turn.cosine, turn.sine);
    }
    return;
  }
  double f = e[zero];
  e[zero] = 0;
  for (std::int64_t k = zero + 1; k <= last && f != 0; ++k) {
    const Rotation turn(d[k], f);
    d[k] = turn.length;
    if (k < last) {
      f = -turn.sine * e[k];
      e[k] *= turn.cosine;
    }
    u_turns_->begin(k, zero - k);
    u_turns_->add(turn.cosine, turn.sine);
  }
}

/// One step of the implicit QR method, with the shift of Wilkinson.
void SingularValues::step(std::int64_t first, std::int64_t last) {
  double* const d = values_;
  double* const e = beside_;
  const double above = last - 1 > first ? e[last - 2] : 0;
  const double corner = d[last] * d[last] + e[last - 1] * e[last - 1];
  const double cross = d[last - 1] * e[last - 1];
  const double half = (d[last - 1] * d[last - 1] + above * above - corner) / 2;
  const double shift =
      cross == 0 ? corner
                 : corner - cross * cross / (half + std::copysign(std::hypot(half, cross), half));
  double y = d[first] * d[first] - shift;
  double z = d[first] * e[first];
  u_turns_->begin(first, 1);
  v_turns_->begin(first, 1);
  for (std::int64_t k = first; k < last; ++k) {
    const Rotation right(y, z);
    if (k > first) e[k - 1] = right.length;
    y = right.cosine * d[k] + right.sine * e[k];
    e[k] = right.cosine * e[k] - right.sine * d[k];
    z = right.sine * d[k + 1];
    d[k + 1] *= right.cosine;
    v_turns_->add(right.cosine, right.sine);
    const Rotation left(y, z);
    d[k] = left.length;
    y = left.cosine * e[k] + left.sine * d[k + 1];
    d[k + 1] = left.cosine * d[k + 1] - left.sine * e[k];
    if (k + 1 < last) {
      z = left.sine * e[k + 1];
      e[k + 1] *= left.cosine;
    }
    u_turns_->add(left.cosine, left.sine);
  }
  e[last - 1] = y;
}

void SingularValues::sort() {
  for (std::int64_t i = 0; i < columns_; ++i) {
    order_[i] = i;
    if (values_[i] >= 0) continue;
    values_[i] = -values_[i];
    double* const right = v_ + i * columns_;
    for (std::int64_t j = 0; j < columns_; ++j) right[j] = -right[j];
  }
  std::sort(order_, order_ + columns_, [&](std::int64_t a, std::int64_t b) {
    return values_[a] > values_[b] || (values_[a] == values_[b] && a < b);
  });
}

}  // namespace tenure::kernels::linalg
