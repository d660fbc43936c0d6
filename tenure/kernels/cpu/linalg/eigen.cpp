#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Reflections make the matrix tridiagonal, rotations by the implicit QL method diagonal. Both are
// orthogonal, so that the error is a small multiple of the rounding of the largest eigenvalue.

namespace tenure::kernels::linalg {

SymmetricEigen::SymmetricEigen(Rooms& rooms, std::int64_t n)
    : n_(n),
      panel_(panel_of(n)),
      a_(rooms.take<double>(Turns::strip_numbers(n, n))),
      vectors_(rooms.take<double>(n * n)),
      values_(rooms.take<double>(n)),
      beside_(rooms.take<double>(n)),
      factors_(rooms.take<double>(n)),
      spare_(rooms.take<double>(n)),
      pairs_(rooms.take<double>(2 * panel_ * n)),
      swapped_(rooms.take<double>(2 * panel_ * n)),
      order_(rooms.take<std::int64_t>(n)),
      turns_(std::in_place, rooms, n, n, a_) {
  if (n <= panel_) return;
  SymmetricEigen measured(n);
  measured.tridiagonalize();
  measured.form();
  blocks_ = Blocks(rooms, n, measured.blocks_.product_bytes());
}

SymmetricEigen::SymmetricEigen(std::int64_t n)
    : n_(n),
      panel_(panel_of(n)),
      a_(nullptr),
      vectors_(nullptr),
      values_(nullptr),
      beside_(nullptr),
      factors_(nullptr),
      spare_(nullptr),
      pairs_(nullptr),
      swapped_(nullptr),
      order_(nullptr) {}

bool SymmetricEigen::run() {
  tridiagonalize();
  form();
  turns_->read(vectors_);
  const bool found = diagonalize();
  turns_->write(vectors_);
  if (found) sort();
  return found;
}

void SymmetricEigen::tridiagonalize() {
  const Matrix<double> a = dense(a_, n_, n_);
  for (std::int64_t first = 0; first + 1 < n_; first += panel_) {
    const std::int64_t count = std::min(panel_, n_ - 1 - first);
    const std::int64_t rest = first + count;
    if (!measures()) {
      for (std::int64_t i = 0; i < count; ++i) reduce_row(first + i, i);
      for (std::int64_t i = 0; i < count; ++i) {
        const double* const pair = pairs_ + 2 * i * n_;
        std::copy_n(pair, n_, swapped_ + (2 * i + 1) * n_);
        std::copy_n(pair + n_, n_, swapped_ + 2 * i * n_);
      }
    }
    // What is left becomes A - v w^T - w v^T of each.
    const std::int64_t left = n_ - rest;
    const Matrix<double> pairs = dense(pairs_, 2 * count, n_).part(0, rest, 2 * count, left);
    const Matrix<double> swapped = dense(swapped_, 2 * count, n_).part(0, rest, 2 * count, left);
    const Matrix<double> corner = a.part(rest, rest, left, left);
    if (left > 1) {
      blocks_.subtract(corner, pairs.transposed(), swapped);
    } else if (!measures()) {
      for (std::int64_t i = 0; i < 2 * count; ++i) corner(0, 0) -= pairs(i, 0) * swapped(i, 0);
    }
  }
  if (measures()) return;
  for (std::int64_t i = 0; i < n_; ++i) values_[i] = a_[i * n_ + i];
}

void SymmetricEigen::reduce_row(std::int64_t k, std::int64_t at) {
  double* const row = a_ + k * n_;
  const auto v_of = [&](std::int64_t i) { return pairs_ + 2 * i * n_; };
  const auto w_of = [&](std::int64_t i) { return pairs_ + (2 * i + 1) * n_; };
  for (std::int64_t i = 0; i < at; ++i) {
    add_scaled(-v_of(i)[k], w_of(i) + k, row + k, n_ - k);
    add_scaled(-w_of(i)[k], v_of(i) + k, row + k, n_ - k);
  }
  const std::int64_t m = n_ - k - 1;
  const Reflection reflection = make_reflection(row + k + 1, m);
  beside_[k] = reflection.first;
  factors_[k] = reflection.factor;
  std::fill_n(v_of(at), k + 1, 0.0);
  std::copy_n(row + k + 1, m, v_of(at) + k + 1);
  std::fill_n(w_of(at), n_, 0.0);
  if (reflection.factor == 0) return;
  // w = f (A v - f/2 (v . A v) v), where A is the matrix of before the panel and what its earlier
  // reflections take away.
  const double* const v = v_of(at) + k + 1;
  double* const w = w_of(at) + k + 1;
  const double* const rest = a_ + (k + 1) * n_ + k + 1;
  constexpr std::int64_t kNumbers = 1 << 16;  // worth waking a thread
  parallel_for(m, kNumbers / m + 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) w[i] = dot(rest + i * n_, v, m);
  });
  for (std::int64_t i = 0; i < at; ++i) {
    const double* const earlier_v = v_of(i) + k + 1;
    const double* const earlier_w = w_of(i) + k + 1;
    const double along_v = dot(earlier_v, v, m);
    const double along_w = dot(earlier_w, v, m);
    add_scaled(-along_w, earlier_v, w, m);
    add_scaled(-along_v, earlier_w, w, m);
  }
  for (std::int64_t i = 0; i < m; ++i) w[i] *= reflection.factor;
  add_scaled(-reflection.factor / 2 * dot(v, w, m), v, w, m);
}

/// The product of all reflections: its first row is that of the unit matrix, and reflection k is
/// row k + 1 at first.
void SymmetricEigen::form() {
  const Matrix<double> vectors = dense(vectors_, n_, n_);
  if (!measures()) {
    std::fill_n(vectors_, n_, 0.0);
    if (n_ > 0) vectors_[0] = 1;
    for (std::int64_t k = 0; k + 1 < n_; ++k) {
      double* const row = vectors.row(k + 1);
      std::fill_n(row, k + 1, 0.0);
      std::copy_n(a_ + k * n_ + k + 1, n_ - k - 1, row + k + 1);
    }
  }
  if (n_ > 1) blocks_.form(vectors.part(1, 1, n_ - 1, n_ - 1), factors_);
}

bool SymmetricEigen::diagonalize() {
  constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
  constexpr int kMost = 60;  // steps for one eigenvalue; two or three are usual
  double* const d = values_;
  double* const e = beside_;
  // Beside the largest number nothing is lost of what is smaller than its rounding; eigenvalues
  // that are zero have no size of their own to compare with.
  double largest = 0;
  for (std::int64_t i = 0; i < n_; ++i) {
    largest = std::max({largest, std::abs(d[i]), i + 1 < n_ ? std::abs(e[i]) : 0});
  }
  const double nothing = kEpsilon * largest / 16;
  for (std::int64_t l = 0; l < n_; ++l) {
    for (int tries = 0;; ++tries) {
      std::int64_t m = l;
      while (m + 1 < n_ && std::abs(e[m]) > kEpsilon * (std::abs(d[m]) + std::abs(d[m + 1])) &&
             std::abs(e[m]) > nothing) {
        ++m;
      }
      if (m == l) break;
      if (tries == kMost) return false;
      // The shift is the eigenvalue of the first two that is closer to the first.
      double g = (d[l + 1] - d[l]) / (2 * e[l]);
      double r = std::hypot(g, 1.0);
      g = d[m] - d[l] + e[l] / (g + std::copysign(r, g));
      turns_->begin(m, -1);
      double sine = 1;
      double cosine = 1;
      double p = 0;
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = sine * e[i];
        const double b = cosine * e[i];
        r = length_of(f, g);
        e[i + 1] = r;
        if (r == 0) {
          d[i + 1] -= p;
          e[m] = 0;
          break;
        }
        sine = f / r;
        cosine = g / r;
        g = d[i + 1] - p;
        r = (d[i] - g) * sine + 2 * cosine * b;
        p = sine * r;
        d[i + 1] = g + p;
        g = cosine * r - b;
        turns_->add(cosine, sine);
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  return true;
}

void SymmetricEigen::sort() {
  for (std::int64_t i = 0; i < n_; ++i) order_[i] = i;
  std::sort(order_, order_ + n_, [&](std::int64_t a, std::int64_t b) {
    return values_[a] < values_[b] || (values_[a] == values_[b] && a < b);
  });
  for (std::int64_t i = 0; i < n_; ++i) spare_[i] = values_[order_[i]];
  std::copy_n(spare_, n_, values_);
}

}  // namespace tenure::kernels::linalg
