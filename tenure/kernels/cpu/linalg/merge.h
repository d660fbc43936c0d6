#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "tenure/base/units.h"
#include "tenure/kernels/cpu/linalg/factor.h"
#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/cpu/linalg/secular.h"
#include "tenure/kernels/cpu/linalg/vectors.h"
#include "tenure/kernels/parallel.h"

// Note: divide and conquer (Cuppen; Gu and Eisenstat)
//
// A matrix of a few diagonals is two of half its size, beside each other, and a matrix of rank one
// where they touch. Small ones are made diagonal by rotations. Of two that are, the values of both
// together are roots of one rational function (secular.h), and the vectors are products of
// matrices, which is nearly all of the work. Where a number of the rank-one matrix is nothing
// beside the values, or two values are equal, a pair stays as it is: of matrices with equal values
// most do.
//
// Vectors lie in rows: those of a block in its rows, and all their numbers in its columns. A vector
// of a half has numbers in the columns of that half alone, unless it was turned together with one
// of the other half. So those that do not stay are put into groups, of which each half of the
// columns is multiplied with two.
//
// What is the same for eigenvalues of tridiagonal matrices and singular values of bidiagonal ones
// is here; tridiagonal.h and bidiagonal.h say where they differ.

namespace tenure::kernels::linalg {

/// Columns, and rows, [begin, middle) and [middle, end) of two halves.
struct Block {
  std::int64_t begin, middle, end;
  std::int64_t rows_end;   ///< rows from here on have no value, and are not merged
  std::int64_t zero = -1;  ///< if not negative, the last row of the first half, whose value is zero
};

inline constexpr std::int64_t kLeaf = 32;  ///< rows of one: whole strips of rotations

/// Numbers of the strips that n numbers are turned in.
inline std::int64_t whole_strips(std::int64_t n) { return (n + kStrip - 1) / kStrip * kStrip; }

/// Calls `f(begin, end)` for the leaves of n rows, on all threads.
template <class F>
void for_leaves(std::int64_t n, const F& f) {
  parallel_for((n + kLeaf - 1) / kLeaf, 1, [&](std::int64_t leaf, std::int64_t last) {
    for (; leaf < last; ++leaf) f(leaf * kLeaf, std::min(n, (leaf + 1) * kLeaf));
  });
}

/// Calls `f(begin, middle, end)` for all pairs of halves, the smallest first. Where the number of
/// blocks is odd the last one waits.
template <class F>
void for_pairs(std::int64_t n, const F& f) {
  for (std::int64_t size = kLeaf; size < n; size *= 2) {
    for (std::int64_t begin = 0; begin + size < n; begin += 2 * size) {
      f(begin, begin + size, std::min(n, begin + 2 * size));
    }
  }
}

/// Puts halves together, one pair at a time.
class Merge {
 public:
  Merge(Rooms& rooms, Gap gap, std::int64_t n);

  /// Of rows. Those of leaves are the caller's to set, as is z of a block before it is deflated.
  double* values() const { return values_; }
  double* z() const { return z_; }
  /// Orders rows [begin, end), whose values were set.
  void sort(std::int64_t begin, std::int64_t end);
  std::int64_t row(std::int64_t i) const { return order_[i]; }  ///< of ascending values

  /// Finds which rows of a block stay as they are, where numbers up to `little` are none, having
  /// turned pairs of rows of each of the matrices so that more do.
  void deflate(const Block& block, double weight, double little,
               std::span<const Matrix<double>> matrices);
  /// Finds the values of the others.
  void solve(double weight);

  /// What new vectors have of each of those before that did not stay.
  struct Mixing {
    /// z[j] / gap of row j, or that times the value of row j: then -1 of the row of the value zero.
    bool times_values = false;
    /// If not negative, a row of the second half beyond those of values. Of the row of the value
    /// zero is taken `zero_share`, and of this one `extra_share` as much.
    std::int64_t extra = -1;
    double zero_share = 1;
    double extra_share = 0;
  };
  /// Replaces rows of a matrix.
  void mix(const Matrix<double>& vectors, const Block& block, const Mixing& mixing);
  /// Rows as they were before `mix` replaced them: that of the value zero, and the extra one.
  const double* zero_before() const { return gathered_ + grouped_[0] * n_; }
  const double* extra_before() const { return gathered_ + kept_ * n_; }

  /// Gives rows their new values, in the order in which `mix` wrote them, and orders them.
  void finish(const Block& block);

 private:
  enum class Side : std::uint8_t { first, both, second };
  static constexpr std::int64_t kChunk = 128;  // vectors that are computed at a time

  static std::int64_t chunk_of(std::int64_t n);
  static std::size_t product_bytes(std::int64_t n);
  void turn(const Matrix<double>& vectors, const Block& block, std::int64_t row, std::int64_t other,
            double cosine, double sine) const;
  void gather(const Matrix<double>& vectors, const Block& block, std::int64_t extra);
  void find_factors(std::int64_t first, std::int64_t count, const Mixing& mixing);
  void multiply(const Matrix<double>& vectors, const Block& block, std::int64_t first,
                std::int64_t extra);
  void copy_gone(const Matrix<double>& vectors, const Block& block, std::int64_t extra) const;

  Gap gap_;
  std::int64_t n_;
  double* values_;
  double* z_;
  double* poles_;    // values that do not stay
  double* weights_;  // z of them
  double* room_;
  Place* places_;
  double* gathered_;  // rows of before
  double* factors_;   // of new vectors in those: a chunk of rows
  double* product_;
  std::int64_t* order_;
  std::int64_t* merged_;
  std::int64_t* rows_;     // those that do not stay, then the others
  std::int64_t* grouped_;  // where in a group they are
  Side* sides_;            // of rows
  std::int64_t kept_ = 0, gone_ = 0;
  std::int64_t before_both_ = 0, before_second_ = 0;
  Products<double> products_;
};

}  // namespace tenure::kernels::linalg
