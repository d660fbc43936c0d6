#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/factor.h"
#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/cpu/linalg/secular.h"

// Note: divide and conquer (Cuppen; Gu and Eisenstat)
//
// A tridiagonal matrix is two of half its size, beside each other, and a matrix of rank one where
// they touch. Small ones are made diagonal by rotations (implicit QL). Of two that are, the
// eigenvalues of both together are roots of one rational function (secular.h), and the vectors are
// products of matrices, which is nearly all of the work. Where a number of the rank-one matrix is
// nothing beside the eigenvalues, or two eigenvalues are equal, a pair stays as it is: of matrices
// with equal eigenvalues most do.
//
// Vectors lie in rows, those of a block side by side; each step reads them from one room and writes
// the next ones to the other.

namespace tenure::kernels::linalg {

/// Eigenvalues of a tridiagonal matrix in ascending order, and their vectors.
class TridiagonalEigen {
 public:
  TridiagonalEigen(Rooms& rooms, std::int64_t n);
  /// `d` is the diagonal, `e` the n - 1 numbers beside it; both are overwritten. False if they were
  /// not found.
  bool run(double* d, double* e);

  double value(std::int64_t i) const { return values_[order_[i]]; }
  const double* vector(std::int64_t i) const { return now_.row(order_[i]); }
  /// All of them, in an order of their own.
  const Matrix<double>& vectors() const { return now_; }

 private:
  static constexpr std::int64_t kLeaf = 32;   // whole strips of rotations
  static constexpr std::int64_t kChunk = 64;  // vectors that are computed at a time

  static std::size_t product_bytes(std::int64_t n);
  bool solve_leaf(std::int64_t begin, std::int64_t end, double* e, double nothing);
  void merge(std::int64_t begin, std::int64_t middle, std::int64_t end, double coupling,
             double nothing);
  /// Fills kept_ and gone_; whether vectors of both halves were mixed.
  bool deflate(std::int64_t begin, std::int64_t middle, std::int64_t end, double weight);
  void rotate(std::int64_t row, std::int64_t other, double cosine, double sine, std::int64_t begin,
              std::int64_t end);
  void make_vectors(std::int64_t begin, std::int64_t middle, std::int64_t end, bool is_mixed);
  void multiply(std::int64_t first, std::int64_t count, std::int64_t begin, std::int64_t from,
                std::int64_t to);

  std::int64_t n_;
  Matrix<double> now_, next_;
  double* values_;       // of rows of now_
  double* next_values_;  // and of next_
  double* z_;
  double* poles_;    // the kept numbers of the diagonal
  double* weights_;  // z of them
  double* room_;
  Place* places_;
  double* factors_;  // of vectors in those before: kChunk rows
  double* product_;
  std::int64_t* order_;
  std::int64_t* merged_;
  std::int64_t* kept_;
  std::int64_t* gone_;
  std::int64_t kept_count_ = 0;
  std::int64_t gone_count_ = 0;
  Products<double> products_;
};

}  // namespace tenure::kernels::linalg
