#include <algorithm>
#include <cmath>
#include <limits>

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

  Rotation(double a, double b) : length(std::hypot(a, b)) {
    if (length == 0) return;
    cosine = a / length;
    sine = b / length;
  }
};

}  // namespace

SingularValues::SingularValues(Rooms& rooms, std::int64_t rows, std::int64_t columns)
    : rows_(rows),
      columns_(columns),
      a_(rooms.take<double>(rows * columns)),
      u_(rooms.take<double>(rows * columns)),
      v_(rooms.take<double>(columns * columns)),
      values_(rooms.take<double>(columns)),
      beside_(rooms.take<double>(columns)),
      left_factors_(rooms.take<double>(columns)),
      right_factors_(rooms.take<double>(columns)),
      spare_(rooms.take<double>(rows)),
      order_(rooms.take<std::int64_t>(columns)) {}

bool SingularValues::run() {
  bidiagonalize();
  form_left();
  form_right();
  if (!diagonalize()) return false;
  sort();
  return true;
}

void SingularValues::bidiagonalize() {
  for (std::int64_t k = 0; k < columns_; ++k) {
    const std::int64_t below = rows_ - k;
    const std::int64_t beyond = columns_ - k - 1;
    double* const column = a_ + k * rows_ + k;
    const Reflection left = make_reflection(column, below);
    reflect(column, left.factor, below, column + rows_, rows_, beyond);
    values_[k] = left.first;
    left_factors_[k] = left.factor;
    if (beyond == 0) {
      beside_[k] = 0;
      continue;
    }
    // The row beyond the diagonal becomes a reflection too, which is kept where V will be.
    double* const v = v_ + k * columns_ + k + 1;
    for (std::int64_t j = 0; j < beyond; ++j) v[j] = column[(j + 1) * rows_];
    const Reflection right = make_reflection(v, beyond);
    beside_[k] = right.first;
    right_factors_[k] = right.factor;
    if (right.factor == 0) continue;
    double* const rest = column + rows_ + 1;
    const std::int64_t height = below - 1;
    // Threads share the rows: each adds up all columns there.
    parallel_for(height, vectors_per_thread(beyond), [&](std::int64_t begin, std::int64_t end) {
      std::fill(spare_ + begin, spare_ + end, 0.0);
      for (std::int64_t j = 0; j < beyond; ++j) {
        add_scaled(v[j], rest + j * rows_ + begin, spare_ + begin, end - begin);
      }
      for (std::int64_t j = 0; j < beyond; ++j) {
        add_scaled(-right.factor * v[j], spare_ + begin, rest + j * rows_ + begin, end - begin);
      }
    });
  }
}

void SingularValues::form_left() {
  std::fill_n(u_, rows_ * columns_, 0.0);
  for (std::int64_t k = columns_ - 1; k >= 0; --k) {
    double* const corner = u_ + k * rows_ + k;
    corner[0] = 1;
    reflect(a_ + k * rows_ + k, left_factors_[k], rows_ - k, corner, rows_, columns_ - k);
  }
}

void SingularValues::form_right() {
  // Column k + 1 of V is made of the reflection in column k, which is overwritten one step later.
  for (std::int64_t k = columns_ - 1; k >= 0; --k) {
    const std::int64_t n = columns_ - k;
    double* const corner = v_ + k * columns_ + k;
    if (k > 0) {
      std::copy_n(corner - columns_, n, spare_);  // the reflection of column k - 1
    }
    std::fill_n(v_ + k * columns_, columns_, 0.0);
    corner[0] = 1;
    if (k > 0) reflect(spare_, right_factors_[k - 1], n, corner, columns_, n);
  }
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
      rotate(turn.cosine, turn.sine, v_ + k * columns_, v_ + last * columns_, columns_);
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
    rotate(turn.cosine, turn.sine, u_ + k * rows_, u_ + zero * rows_, rows_);
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
  for (std::int64_t k = first; k < last; ++k) {
    const Rotation right(y, z);
    if (k > first) e[k - 1] = right.length;
    y = right.cosine * d[k] + right.sine * e[k];
    e[k] = right.cosine * e[k] - right.sine * d[k];
    z = right.sine * d[k + 1];
    d[k + 1] *= right.cosine;
    rotate(right.cosine, right.sine, v_ + k * columns_, v_ + (k + 1) * columns_, columns_);
    const Rotation left(y, z);
    d[k] = left.length;
    y = left.cosine * e[k] + left.sine * d[k + 1];
    d[k + 1] = left.cosine * d[k + 1] - left.sine * e[k];
    if (k + 1 < last) {
      z = left.sine * e[k + 1];
      e[k + 1] *= left.cosine;
    }
    rotate(left.cosine, left.sine, u_ + k * rows_, u_ + (k + 1) * rows_, rows_);
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
