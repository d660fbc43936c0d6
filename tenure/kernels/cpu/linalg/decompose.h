#pragma once

#include <cstdint>
#include <optional>

#include "tenure/kernels/cpu/linalg/bidiagonal.h"
#include "tenure/kernels/cpu/linalg/blocks.h"
#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/panel.h"
#include "tenure/kernels/cpu/linalg/rooms.h"
#include "tenure/kernels/cpu/linalg/tridiagonal.h"

// Decompositions of one matrix of float64, which those of float32 are computed in. Numbers are of
// size 2 at most. Matrices lie column by column.

namespace tenure::kernels::linalg {

/// R, with a diagonal that is not negative, and the first min(rows, columns) columns of Q. In
/// qr.cpp.
class QrFactors {
 public:
  QrFactors(Rooms& rooms, std::int64_t rows, std::int64_t columns);
  /// Transposed.
  const Matrix<double>& matrix() const { return a_; }
  void run();

  /// Columns of Q, and of R, whose numbers beyond the diagonal are others; number j of a column of
  /// R and column j of Q are to be multiplied by sign(j).
  const double* q(std::int64_t j) const { return q_.row(j); }
  const double* r(std::int64_t j) const { return a_.row(j); }
  double sign(std::int64_t j) const { return a_(j, j) < 0 ? -1 : 1; }

 private:
  QrFactors(std::int64_t rows, std::int64_t columns);  // measures
  bool measures() const { return a_.data == nullptr; }
  /// Reflections of columns [first, end), of which those before `last` are reflected.
  void eliminate(std::int64_t first, std::int64_t end, std::int64_t last, std::int64_t block);
  void eliminate_each(std::int64_t first, std::int64_t end, std::int64_t last);

  std::int64_t rows_, columns_, size_;
  Matrix<double> a_;  // transposed, as Q is
  Matrix<double> q_;
  double* factors_;
  Blocks blocks_;
};

/// Of a symmetric matrix, of which the upper triangle is read and all is overwritten: eigenvalues
/// in ascending order, and their vectors of length 1. False if they were not found. In eigen.cpp.
class SymmetricEigen {
 public:
  SymmetricEigen(Rooms& rooms, std::int64_t n);
  const Matrix<double>& matrix() const { return a_; }
  double value(std::int64_t i) const { return tridiagonal_->value(i); }
  const double* vector(std::int64_t i) const { return tridiagonal_->vector(i); }
  bool run();

 private:
  explicit SymmetricEigen(std::int64_t n);  // measures
  bool measures() const { return a_.data == nullptr; }
  void tridiagonalize();
  /// Row k of the tridiagonal matrix, which is the row `at` of a panel of reflections.
  void reduce_row(std::int64_t k, std::int64_t at);
  /// w = A v for the last m rows and columns of the matrix.
  void multiply(std::int64_t m, const double* v, double* w);
  /// Vectors of the tridiagonal matrix become those of the matrix.
  void reflect_back(const Matrix<double>& vectors);

  static constexpr std::int64_t kStrips = 8;

  std::int64_t n_;
  std::int64_t panel_;
  Matrix<double> a_;  // later the reflections
  double* diagonal_;
  double* beside_;   // the diagonal
  double* factors_;  // of reflections
  double* pairs_;    // v and w of each reflection of a panel
  double* swapped_;  // w and v
  double* strips_;   // of products with the matrix: kStrips vectors
  Panel earlier_;
  std::optional<TridiagonalEigen> tridiagonal_;
  Blocks blocks_;
};

/// Of a matrix that is at least as high as wide: singular values in descending order, and the
/// columns of U and of V, one after the other. False if they were not found. In svd.cpp.
class SingularValues {
 public:
  SingularValues(Rooms& rooms, std::int64_t rows, std::int64_t columns);
  /// Transposed.
  const Matrix<double>& matrix() const { return a_; }
  double value(std::int64_t i) const { return bidiagonal_->value(i); }
  const double* left(std::int64_t i) const { return bidiagonal_->left(i); }
  const double* right(std::int64_t i) const { return bidiagonal_->right(i); }
  bool run();

 private:
  SingularValues(std::int64_t rows, std::int64_t columns);  // measures
  bool measures() const { return a_.data == nullptr; }
  void bidiagonalize();
  /// Column k, and the row beyond it, which are the pair `at` of a panel of reflections.
  void reduce_column(std::int64_t k, std::int64_t at);
  void reduce_row(std::int64_t k, std::int64_t at);
  /// Vectors of the bidiagonal matrix become those of the matrix.
  void reflect_back(const Matrix<double>& left, const Matrix<double>& right);
  void reflect(const Matrix<double>& v, const double* factors, const Matrix<double>& vectors);

  std::int64_t rows_, columns_, panel_;
  Matrix<double>
      a_;       // transposed; later the reflections: of columns below the diagonal, of rows beyond
  double* on_;  // the diagonal
  double* beside_;        // it
  double* left_factors_;  // of reflections
  double* right_factors_;
  double* tall_pairs_;  // of a panel: reflections of columns, and what those of rows make of them
  double* wide_pairs_;  // what reflections of columns make of rows, and reflections of rows; of
                        // those a block at last
  Panel earlier_;
  std::optional<BidiagonalValues> bidiagonal_;
  Blocks blocks_;
};

}  // namespace tenure::kernels::linalg
