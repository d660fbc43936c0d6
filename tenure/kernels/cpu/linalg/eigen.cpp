#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Reflections make the matrix tridiagonal, rotations by the implicit QL method diagonal. Both are
// orthogonal, so that the error is a small multiple of the rounding of the largest eigenvalue.

namespace tenure::kernels::linalg {

SymmetricEigen::SymmetricEigen(Rooms& rooms, std::int64_t n)
    : n_(n),
      a_(rooms.take<double>(n * n)),
      vectors_(rooms.take<double>(n * n)),
      values_(rooms.take<double>(n)),
      beside_(rooms.take<double>(n)),
      factors_(rooms.take<double>(n)),
      spare_(rooms.take<double>(n)),
      order_(rooms.take<std::int64_t>(n)) {}

bool SymmetricEigen::run() {
  tridiagonalize();
  if (!diagonalize()) return false;
  sort();
  return true;
}

void SymmetricEigen::tridiagonalize() {
  for (std::int64_t k = 0; k + 1 < n_; ++k) {
    const std::int64_t m = n_ - k - 1;
    double* const v = a_ + k * n_ + k + 1;  // row k, which is column k
    const Reflection reflection = make_reflection(v, m);
    beside_[k] = reflection.first;
    factors_[k] = reflection.factor;
    if (reflection.factor == 0) continue;
    // With w = f (A v - f/2 (v . A v) v) the rest becomes A - v w^T - w v^T.
    double* const w = spare_;
    double* const rest = a_ + (k + 1) * n_ + k + 1;
    parallel_for(m, vectors_per_thread(m), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        w[i] = reflection.factor * dot(rest + i * n_, v, m);
      }
    });
    add_scaled(-reflection.factor / 2 * dot(v, w, m), v, w, m);
    parallel_for(m, vectors_per_thread(m), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        add_scaled(-v[i], w, rest + i * n_, m);
        add_scaled(-w[i], v, rest + i * n_, m);
      }
    });
  }
  std::fill_n(vectors_, n_ * n_, 0.0);
  for (std::int64_t i = 0; i < n_; ++i) {
    values_[i] = a_[i * n_ + i];
    vectors_[i * n_ + i] = 1;
  }
  for (std::int64_t k = n_ - 2; k >= 0; --k) {
    const std::int64_t first = k + 1;
    reflect(a_ + k * n_ + first, factors_[k], n_ - first, vectors_ + first * n_ + first, n_,
            n_ - first);
  }
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
      double sine = 1;
      double cosine = 1;
      double p = 0;
      std::int64_t i = m - 1;
      for (; i >= l; --i) {
        const double f = sine * e[i];
        const double b = cosine * e[i];
        r = std::hypot(f, g);
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
        rotate(cosine, sine, vectors_ + (i + 1) * n_, vectors_ + i * n_, n_);
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
