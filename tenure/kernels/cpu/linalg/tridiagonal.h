#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/merge.h"
#include "tenure/kernels/cpu/linalg/rooms.h"

namespace tenure::kernels::linalg {

/// Eigenvalues of a tridiagonal matrix in ascending order, and their vectors. By divide and conquer
/// (merge.h): of the rank-one matrix where halves touch both diagonals lose a part, so that the
/// rest are two halves. Leaves are made diagonal by implicit QL.
class TridiagonalEigen {
 public:
  TridiagonalEigen(Rooms& rooms, std::int64_t n);
  /// `d` is the diagonal, `e` the n - 1 numbers beside it; both are overwritten. False if they were
  /// not found.
  bool run(double* d, double* e);

  double value(std::int64_t i) const { return merge_.values()[merge_.row(i)]; }
  const double* vector(std::int64_t i) const { return vectors_.row(merge_.row(i)); }
  /// All of them, in an order of their own.
  const Matrix<double>& vectors() const { return vectors_; }

 private:
  bool solve_leaf(std::int64_t begin, std::int64_t end, const double* e, double nothing);
  void join(const Block& block, double coupling, double nothing);

  std::int64_t n_;
  Matrix<double> vectors_;
  Merge merge_;
};

}  // namespace tenure::kernels::linalg
