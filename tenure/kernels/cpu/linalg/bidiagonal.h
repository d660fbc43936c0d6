#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/merge.h"
#include "tenure/kernels/cpu/linalg/rooms.h"

namespace tenure::kernels::linalg {

/// Singular values of an upper bidiagonal matrix in descending order, and their vectors. By divide
/// and conquer (merge.h): without its row at the end of a half, the matrix is two halves, of which
/// the first has a column more than rows, and so one more right vector, of a value that is zero;
/// the row left out is what joins them. Squares of values are the eigenvalues of a matrix of rank
/// one and a diagonal; values themselves are what is computed, so that small ones are as exact as
/// large ones. In bidiagonal.cpp and bidiagonal_leaf.cpp.
class BidiagonalValues {
 public:
  /// Left vectors have room for `rows` numbers, of which the first n are theirs.
  BidiagonalValues(Rooms& rooms, std::int64_t n, std::int64_t rows);
  /// `d` is the diagonal, `e` the n - 1 numbers beside it. False if they were not found.
  bool run(const double* d, const double* e);

  double value(std::int64_t i) const { return merge_.values()[row(i)]; }
  const double* left(std::int64_t i) const { return left_.row(row(i)); }
  const double* right(std::int64_t i) const { return right_.row(row(i)); }
  /// All of them, in an order of their own.
  const Matrix<double>& lefts() const { return left_; }
  const Matrix<double>& rights() const { return right_; }

 private:
  std::int64_t row(std::int64_t i) const { return merge_.row(n_ - 1 - i); }
  bool solve_leaf(std::int64_t begin, std::int64_t end, const double* d, const double* e);
  void join(std::int64_t begin, std::int64_t middle, std::int64_t end, double on, double beside);

  std::int64_t n_;
  Matrix<double> left_, right_;
  Merge merge_;
};

}  // namespace tenure::kernels::linalg
