#include "tenure/kernels/cpu/linalg/tridiagonal.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "tenure/kernels/cpu/linalg/reflect.h"

namespace tenure::kernels::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

}  // namespace

TridiagonalEigen::TridiagonalEigen(Rooms& rooms, std::int64_t n)
    : n_(n),
      vectors_{rooms.take<double>(n * spread(n)), n, n, spread(n)},
      merge_(rooms, Gap::of_numbers, n) {}

bool TridiagonalEigen::run(double* d, double* e) {
  // Beside the largest number nothing is lost of what is smaller than its rounding; eigenvalues
  // that are zero have no size of their own to compare with.
  double largest = 0;
  for (std::int64_t i = 0; i < n_; ++i) {
    largest = std::max({largest, std::abs(d[i]), i + 1 < n_ ? std::abs(e[i]) : 0});
  }
  const double nothing = kEpsilon * largest / 16;
  for (std::int64_t i = kLeaf; i < n_; i += kLeaf) {
    d[i - 1] -= std::abs(e[i - 1]);
    d[i] -= std::abs(e[i - 1]);
  }
  std::copy_n(d, n_, merge_.values());
  std::atomic<bool> found = true;
  for_leaves(n_, [&](std::int64_t begin, std::int64_t end) {
    if (!solve_leaf(begin, end, e, nothing)) found = false;
  });
  if (!found) return false;
  for_pairs(n_, [&](std::int64_t begin, std::int64_t middle, std::int64_t end) {
    join({.begin = begin, .middle = middle, .end = end, .rows_end = end}, e[middle - 1], nothing);
  });
  return true;
}

/// Implicit QL of rows [begin, end), whose vectors are turned sweep by sweep.
bool TridiagonalEigen::solve_leaf(std::int64_t begin, std::int64_t end, const double* beside,
                                  double nothing) {
  constexpr int kMost = 60;  // steps for one eigenvalue; two or three are usual
  const std::int64_t n = end - begin;
  double* const d = merge_.values() + begin;
  double e[kLeaf] = {};
  std::copy_n(beside + begin, n - 1, e);
  const std::int64_t width = whole_strips(n);
  for (std::int64_t i = 0; i < n; ++i) {
    double* const row = vectors_.row(begin + i) + begin;
    std::fill_n(row, width, 0.0);
    row[i] = 1;
  }
  double cosines[kLeaf];
  double sines[kLeaf];
  for (std::int64_t l = 0; l < n; ++l) {
    for (int tries = 0;; ++tries) {
      std::int64_t m = l;
      while (m + 1 < n && std::abs(e[m]) > kEpsilon * (std::abs(d[m]) + std::abs(d[m + 1])) &&
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
      std::int64_t turns = 0;
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
        cosines[turns] = cosine;
        sines[turns++] = sine;
      }
      for (std::int64_t strip = 0; strip < width && turns > 0; strip += kStrip) {
        turn_strip(cosines, sines, turns, vectors_.row(begin + m) + begin + strip,
                   -vectors_.row_step);
      }
      if (i >= l) continue;
      d[l] -= p;
      e[l] = g;
      e[m] = 0;
    }
  }
  merge_.sort(begin, end);
  return true;
}

void TridiagonalEigen::join(const Block& block, double coupling, double nothing) {
  // The rank-one matrix is that of a vector with a 1 on both sides of the middle, or a -1 beyond.
  const std::int64_t middle = block.middle;
  const double weight = 2 * std::abs(coupling);
  const double beyond = std::copysign(std::sqrt(0.5), coupling);
  double* const z = merge_.z();
  double largest = weight;
  for (std::int64_t i = block.begin; i < block.end; ++i) {
    z[i] = i < middle ? vectors_(i, middle - 1) * std::sqrt(0.5) : vectors_(i, middle) * beyond;
    largest = std::max(largest, std::abs(merge_.values()[i]));
  }
  merge_.deflate(block, weight, std::max(4 * kEpsilon * largest, 2 * nothing), {&vectors_, 1});
  merge_.solve(weight);
  merge_.mix(vectors_, block, {});
  merge_.finish(block);
}

}  // namespace tenure::kernels::linalg
