#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/ops/core/record.h"

// Matrices of long doubles, for the references of linear algebra: slow, plain, obviously right. And
// samples that have no small pivots and no equal eigenvalues. In plain_matrix.cpp.

namespace tenure::ops {

struct PlainMatrix {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<long double> values{};

  PlainMatrix() = default;
  PlainMatrix(std::int64_t n_rows, std::int64_t n_columns)
      : rows(n_rows), columns(n_columns), values(static_cast<std::size_t>(n_rows * n_columns)) {}
  long double& operator()(std::int64_t i, std::int64_t j) {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
  long double operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

/// The matrix of a batch at an index, whose dimensions may be repeated there.
PlainMatrix matrix_at(const Reference& x, const Dims& batch_index);
/// `result(index, output)` for each index of the batch and each of the outputs, joined.
std::vector<Reference> join_matrices(
    const Shape& batch, const std::vector<Shape>& outputs,
    const std::function<std::vector<PlainMatrix>(const Dims& index)>& results);

PlainMatrix transposed(const PlainMatrix& a);
PlainMatrix product(const PlainMatrix& a, const PlainMatrix& b);
/// x in a x = b, by elimination; the determinant of a goes to `determinant` if that is asked for.
PlainMatrix solved(PlainMatrix a, PlainMatrix b, long double* determinant = nullptr);
PlainMatrix identity_matrix(std::int64_t n);
/// Q and R, by Gram and Schmidt, twice.
std::vector<PlainMatrix> orthogonalized(const PlainMatrix& a);
/// Eigenvalues as a row, and eigenvectors, by Jacobi's rotations.
std::vector<PlainMatrix> eigen_decomposed(PlainMatrix a);

/// Matrices with these numbers on the diagonal, first and step, and others of up to `noise`.
struct MatrixSample {
  Shape shape;
  double first = 2;
  double step = 1;
  double noise = 0.5;
  bool symmetric = false;

  Sample::Input input() const;
};

}  // namespace tenure::ops
