#include <algorithm>
#include <cmath>
#include <limits>

#include "tenure/kernels/cpu/linalg/bidiagonal.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

// Implicit QR: rotations from both sides leave one of two diagonals.

namespace tenure::kernels::linalg {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

/// (a, b) is turned to (length, 0), unless it is nothing.
struct Rotation {
  double cosine = 1;
  double sine = 0;
  double length = 0;

  Rotation(double a, double b) : length(length_of(a, b)) {
    if (length < kShortest) return;
    cosine = a / length;
    sine = b / length;
  }
};

/// Rotations of vectors first and first + 1, of first + 1 and first + 2, and so on.
class Sweep {
 public:
  void add(const Rotation& turn) {
    cosines_[count_] = turn.cosine;
    sines_[count_] = turn.sine;
    ++count_;
  }
  void run(const Matrix<double>& vectors, std::int64_t first, std::int64_t step = 1) const {
    for (std::int64_t strip = 0; strip < whole_strips(vectors.columns); strip += kStrip) {
      turn_strip(cosines_, sines_, count_, vectors.row(first) + strip, step * vectors.row_step);
    }
  }

 private:
  double cosines_[kLeaf];
  double sines_[kLeaf];
  std::int64_t count_ = 0;
};

void turn(const Matrix<double>& vectors, std::int64_t row, std::int64_t other,
          const Rotation& rotation) {
  Sweep one;
  one.add(rotation);
  one.run(vectors, row, other - row);
}

struct Leaf {
  double* d;
  double* e;
  std::int64_t n;
  Matrix<double> left, right;  // vectors

  bool diagonalize();
  void split(std::int64_t zero, std::int64_t first, std::int64_t last);
  void step(std::int64_t first, std::int64_t last);
};

bool Leaf::diagonalize() {
  constexpr int kMost = 60;  // steps for one value; two or three are usual
  double largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max({largest, std::abs(d[i]), std::abs(e[i])});
  }
  const double nothing = kEpsilon * largest;
  for (std::int64_t last = n - 1; last >= 0; --last) {
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
void Leaf::split(std::int64_t zero, std::int64_t first, std::int64_t last) {
  d[zero] = 0;
  if (zero == last) {
    double f = e[last - 1];
    e[last - 1] = 0;
    for (std::int64_t k = last - 1; k >= first && f != 0; --k) {
      const Rotation rotation(d[k], f);
      d[k] = rotation.length;
      if (k > first) {
        f = -rotation.sine * e[k - 1];
        e[k - 1] *= rotation.cosine;
      }
      turn(right, k, last, rotation);
    }
    return;
  }
  double f = e[zero];
  e[zero] = 0;
  for (std::int64_t k = zero + 1; k <= last && f != 0; ++k) {
    const Rotation rotation(d[k], f);
    d[k] = rotation.length;
    if (k < last) {
      f = -rotation.sine * e[k];
      e[k] *= rotation.cosine;
    }
    turn(left, k, zero, rotation);
  }
}

/// One step, with the shift of Wilkinson.
void Leaf::step(std::int64_t first, std::int64_t last) {
  const double above = last - 1 > first ? e[last - 2] : 0;
  const double corner = d[last] * d[last] + e[last - 1] * e[last - 1];
  const double cross = d[last - 1] * e[last - 1];
  const double half = (d[last - 1] * d[last - 1] + above * above - corner) / 2;
  const double shift =
      cross == 0 ? corner
                 : corner - cross * cross / (half + std::copysign(std::hypot(half, cross), half));
  double y = d[first] * d[first] - shift;
  double z = d[first] * e[first];
  Sweep lefts;
  Sweep rights;
  for (std::int64_t k = first; k < last; ++k) {
    const Rotation rotation(y, z);
    if (k > first) e[k - 1] = rotation.length;
    y = rotation.cosine * d[k] + rotation.sine * e[k];
    e[k] = rotation.cosine * e[k] - rotation.sine * d[k];
    z = rotation.sine * d[k + 1];
    d[k + 1] *= rotation.cosine;
    rights.add(rotation);
    const Rotation other(y, z);
    d[k] = other.length;
    y = other.cosine * e[k] + other.sine * d[k + 1];
    d[k + 1] = other.cosine * d[k + 1] - other.sine * e[k];
    if (k + 1 < last) {
      z = other.sine * e[k + 1];
      e[k + 1] *= other.cosine;
    }
    lefts.add(other);
  }
  e[last - 1] = y;
  lefts.run(left, first);
  rights.run(right, first);
}

}  // namespace

/// Without its last row, but for the last leaf: what is left in the column beyond is turned away.
/// It may be smaller than the matrix by any factor, and squares of its numbers then none: it is
/// scaled.
bool BidiagonalValues::solve_leaf(std::int64_t begin, std::int64_t end, const double* diagonal,
                                  const double* beside) {
  const std::int64_t n = end - begin;
  double* const d = merge_.values() + begin;
  double e[kLeaf] = {};
  std::copy_n(diagonal + begin, n, d);
  std::copy_n(beside + begin, n - 1, e);
  const bool is_last = end == n_;
  Leaf leaf{.d = d,
            .e = e,
            .n = is_last ? n : n - 1,
            .left = left_.part(begin, begin, n, n),
            .right = right_.part(begin, begin, n, n)};
  double largest = 0;
  for (std::int64_t i = 0; i < leaf.n; ++i) {
    largest = std::max({largest, std::abs(d[i]), std::abs(e[i])});
  }
  const double scale = scale_of(largest);
  for (std::int64_t i = 0; i < leaf.n; ++i) {
    d[i] /= scale;
    e[i] /= scale;
  }
  for (std::int64_t i = 0; i < n; ++i) {
    for (const Matrix<double>& vectors : {leaf.left, leaf.right}) {
      std::fill_n(vectors.row(i), whole_strips(n), 0.0);
      vectors(i, i) = 1;
    }
  }
  if (!is_last) leaf.split(n - 1, 0, n - 1);
  if (!leaf.diagonalize()) return false;
  for (std::int64_t i = 0; i < leaf.n; ++i) {
    const bool is_negative = d[i] < 0;
    d[i] = std::abs(d[i]) * scale;
    if (!is_negative) continue;
    for (std::int64_t j = 0; j < n; ++j) leaf.right(i, j) = -leaf.right(i, j);
  }
  merge_.sort(begin, begin + leaf.n);
  return true;
}

}  // namespace tenure::kernels::linalg
