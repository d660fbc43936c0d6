#include <algorithm>
#include <cmath>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Reflections make the matrix tridiagonal; what has the eigenvalues of that (tridiagonal.h) has its
// vectors, which are reflected back. All of it is orthogonal, so that the error is a small multiple
// of the rounding of the largest eigenvalue.

namespace tenure::kernels::linalg {

SymmetricEigen::SymmetricEigen(Rooms& rooms, std::int64_t n)
    : n_(n),
      panel_(panel_of(n)),
      a_{rooms.take<double>(n * spread(n)), n, n, spread(n)},
      diagonal_(rooms.take<double>(n)),
      beside_(rooms.take<double>(n)),
      factors_(rooms.take<double>(n)),
      pairs_(rooms.take<double>(2 * panel_ * n)),
      swapped_(rooms.take<double>(2 * panel_ * n)),
      strips_(rooms.take<double>(kStrips * n)),
      earlier_(rooms, 2 * panel_, n),
      tridiagonal_(std::in_place, rooms, n) {
  if (n < 2) return;
  SymmetricEigen measured(n);
  measured.tridiagonalize();
  measured.reflect_back({nullptr, n, n, tridiagonal_->vectors().row_step, 1});
  blocks_ = Blocks(rooms, n, measured.blocks_.product_bytes());
}

SymmetricEigen::SymmetricEigen(std::int64_t n)
    : n_(n),
      panel_(panel_of(n)),
      a_{nullptr, n, n, spread(n)},
      diagonal_(nullptr),
      beside_(nullptr),
      factors_(nullptr),
      pairs_(nullptr),
      swapped_(nullptr),
      strips_(nullptr) {}

bool SymmetricEigen::run() {
  tridiagonalize();
  if (!tridiagonal_->run(diagonal_, beside_)) return false;
  reflect_back(tridiagonal_->vectors());
  return true;
}

void SymmetricEigen::tridiagonalize() {
  for (std::int64_t first = 0; first + 1 < n_; first += panel_) {
    const std::int64_t count = std::min(panel_, n_ - 1 - first);
    const std::int64_t rest = first + count;
    if (!measures()) {
      for (std::int64_t i = 0; i < count; ++i) {
        reduce_row(first + i, i);
        const double* const pair = pairs_ + 2 * i * n_;
        std::copy_n(pair, n_, swapped_ + (2 * i + 1) * n_);
        std::copy_n(pair + n_, n_, swapped_ + 2 * i * n_);
      }
    }
    // What is left becomes A + v w^T + w v^T of each, its upper triangle and little below.
    const std::int64_t left = n_ - rest;
    const Matrix<double> pairs = dense(pairs_, 2 * count, n_).part(0, rest, 2 * count, left);
    const Matrix<double> swapped = dense(swapped_, 2 * count, n_).part(0, rest, 2 * count, left);
    const Matrix<double> corner = a_.part(rest, rest, left, left);
    constexpr std::int64_t kRows = 128;
    for (std::int64_t i = 0; i < left; i += kRows) {
      const std::int64_t rows = std::min(kRows, left - i);
      blocks_.add(corner.part(i, i, rows, left - i), pairs.part(0, i, 2 * count, rows).transposed(),
                  swapped.part(0, i, 2 * count, left - i));
    }
  }
  if (measures()) return;
  for (std::int64_t i = 0; i < n_; ++i) diagonal_[i] = a_(i, i);
}

void SymmetricEigen::reduce_row(std::int64_t k, std::int64_t at) {
  double* const row = a_.row(k);
  const Matrix<double> pairs = dense(pairs_, 2 * panel_, n_);
  const Matrix<double> swapped = dense(swapped_, 2 * panel_, n_);
  const auto v_of = [&](std::int64_t i) { return pairs_ + 2 * i * n_; };
  const auto w_of = [&](std::int64_t i) { return pairs_ + (2 * i + 1) * n_; };
  earlier_.add(swapped.part(0, k, 2 * at, n_ - k), &pairs(0, k), n_, row + k);
  const std::int64_t m = n_ - k - 1;
  const Reflection reflection = make_reflection(row + k + 1, m);
  beside_[k] = reflection.first;
  factors_[k] = reflection.factor;
  std::fill_n(v_of(at), k + 1, 0.0);
  std::copy_n(row + k + 1, m, v_of(at) + k + 1);
  std::fill_n(w_of(at), n_, 0.0);
  if (reflection.factor == 0) return;
  // w = -f (A v - f/2 (v . A v) v), where A is the matrix of before the panel and what its earlier
  // reflections add.
  const double* const v = v_of(at) + k + 1;
  double* const w = w_of(at) + k + 1;
  multiply(m, v, w);
  earlier_.add(swapped.part(0, k + 1, 2 * at, m), pairs.part(0, k + 1, 2 * at, m), v, w);
  for (std::int64_t i = 0; i < m; ++i) w[i] *= -reflection.factor;
  add_scaled(-reflection.factor / 2 * dot(v, w, m), v, w, m);
}

/// By strips of rows that have as many numbers each, whose sums are added in order: so many for a
/// size, whatever the threads.
void SymmetricEigen::multiply(std::int64_t m, const double* v, double* w) {
  constexpr std::int64_t kFewRows = 32;       // of a strip
  constexpr std::int64_t kNumbers = 1 << 15;  // worth waking a thread
  constexpr std::int64_t kTogether = 4;       // rows
  const Matrix<double> rest = a_.part(n_ - m, n_ - m, m, m);
  const std::int64_t strips = std::clamp<std::int64_t>(m / kFewRows, 1, kStrips);
  const auto first_of = [&](std::int64_t strip) {
    if (strip == strips) return m;
    const double left = 1 - static_cast<double>(strip) / static_cast<double>(strips);
    return static_cast<std::int64_t>(static_cast<double>(m) * (1 - std::sqrt(left))) / kTogether *
           kTogether;
  };
  const std::int64_t grain = kNumbers / (m * m / 2 / strips + 1) + 1;
  parallel_for(strips, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t s = begin; s < end; ++s) {
      double* const sums = strips_ + s * n_;
      std::fill_n(sums, m, 0.0);
      add_symmetric_rows(rest.data, rest.row_step, m, first_of(s), first_of(s + 1), v, sums);
    }
  });
  std::copy_n(strips_, m, w);
  for (std::int64_t s = 1; s < strips; ++s) {
    const std::int64_t from = first_of(s);
    add_scaled(1, strips_ + s * n_ + from, w + from, m - from);
  }
}

/// Reflection k is in row k of the matrix, from column k + 1 on.
void SymmetricEigen::reflect_back(const Matrix<double>& vectors) {
  const std::int64_t reflections = n_ - 1;
  for (std::int64_t first = (reflections - 1) / Blocks::kMost * Blocks::kMost;
       first >= 0 && reflections > 0; first -= Blocks::kMost) {
    const std::int64_t count = std::min(Blocks::kMost, reflections - first);
    const Matrix<double> block = a_.part(first, first + 1, count, n_ - first - 1);
    if (!measures()) {
      for (std::int64_t i = 0; i < count; ++i) std::fill_n(block.row(i), i, 0.0);
    }
    blocks_.reflect(block, measures() ? nullptr : factors_ + first, Blocks::Order::last_to_first,
                    vectors.part(0, first + 1, n_, n_ - first - 1));
  }
}

}  // namespace tenure::kernels::linalg
