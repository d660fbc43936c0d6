#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/rooms.h"

// Decompositions of one matrix of float64, which those of float32 are computed in. Numbers are of
// size 1 at most. Matrices lie column by column.

namespace tenure::kernels::linalg {

/// a (rows x columns) becomes R in its upper triangle, with a diagonal that is not negative; q gets
/// the first min(rows, columns) columns of Q. `factors` has as many numbers. In qr.cpp.
void decompose_qr(double* a, std::int64_t rows, std::int64_t columns, double* q, double* factors);

/// Of a symmetric matrix, of which both triangles are read and overwritten: eigenvalues in
/// ascending order, and their vectors of length 1, one after the other. False if they were not
/// found. In eigen.cpp.
class SymmetricEigen {
 public:
  SymmetricEigen(Rooms& rooms, std::int64_t n);
  double* matrix() const { return a_; }
  const double* values() const { return values_; }
  const double* vector(std::int64_t i) const { return vectors_ + order_[i] * n_; }
  bool run();

 private:
  void tridiagonalize();
  bool diagonalize();
  void sort();

  std::int64_t n_;
  double* a_;
  double* vectors_;
  double* values_;
  double* beside_;   // the diagonal
  double* factors_;  // of reflections
  double* spare_;
  std::int64_t* order_;
};

/// Of a matrix that is at least as high as wide: singular values in descending order, and the
/// columns of U and of V, one after the other. False if they were not found. In svd.cpp.
class SingularValues {
 public:
  SingularValues(Rooms& rooms, std::int64_t rows, std::int64_t columns);
  double* matrix() const { return a_; }
  double value(std::int64_t i) const { return values_[order_[i]]; }
  const double* left(std::int64_t i) const { return u_ + order_[i] * rows_; }
  const double* right(std::int64_t i) const { return v_ + order_[i] * columns_; }
  bool run();

 private:
  void bidiagonalize();
  void form_left();
  void form_right();
  bool diagonalize();
  void split(std::int64_t zero, std::int64_t first, std::int64_t last);
  void step(std::int64_t first, std::int64_t last);
  void sort();

  std::int64_t rows_, columns_;
  double* a_;
  double* u_;
  double* v_;
  double* values_;
  double* beside_;        // the diagonal
  double* left_factors_;  // of reflections
  double* right_factors_;
  double* spare_;
  std::int64_t* order_;
};

}  // namespace tenure::kernels::linalg
