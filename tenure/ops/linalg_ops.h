#pragma once

#include <cstdint>
#include <string>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/linalg_error.h"

// Defined in linalg/matmul.cpp, linalg/einsum.cpp, linalg/products.cpp (outer to trace),
// linalg/solve.cpp, linalg/decompose.cpp and linalg/composites.cpp.

namespace tenure {

/// The product of matrices. Leading dimensions are a batch and broadcast; a vector on the left is a
/// row, on the right a column, and its dimension disappears.
Tensor matmul(const Operand& a, const Operand& b);
/// The product of matrices of int8 or uint8, each of either, in int32, where `matmul` gives their
/// own type. Sums that int32 cannot hold wrap: from 131072 terms of int8 on, 33026 of uint8.
Tensor integer_matmul(const Operand& a, const Operand& b);

/// Sums of products in Einstein's notation: "ij,jk->ik". Letters name dimensions; "..." stands for
/// those that broadcast; without "->" the letters that occur once remain, in alphabetical order.
Tensor einsum(const std::string& equation, const OperandList& tensors);

/// Products of all elements of a with all of b, as a matrix.
Tensor outer(const Operand& a, const Operand& b);
/// The inner product of two vectors; `matmul` is of matrices.
Tensor dot(const Operand& a, const Operand& b);
/// Kronecker's product: every element of a times the whole of b, in its place.
Tensor kron(const Operand& a, const Operand& b);
/// The vector product along an axis of size 3; the other axes broadcast.
Tensor cross(const Operand& a, const Operand& b, int axis = -1);
/// The sum of the k-th diagonal of matrices in two axes.
Tensor trace(const Operand& x, int a = -2, int b = -1, std::int64_t k = 0);

// Matrices of float32 or float64 over leading dimensions. See docs/linear-algebra.md.

/// Lower triangular L with L L^T = a, the symmetric part of which is taken. MatrixError if it is
/// not positive definite.
Tensor cholesky(const Operand& a);

struct TriangularOptions {
  bool upper = false;       ///< the upper triangle of a is read, else the lower one
  bool transposed = false;  ///< solves with its transpose
  bool unit = false;        ///< its diagonal is not read, and counts as ones
};
/// x with a x = b of a triangular matrix. b has matrices, or is one vector. MatrixError if there is
/// a zero on the diagonal.
Tensor solve_triangular(const Operand& a, const Operand& b, const TriangularOptions& options = {});
/// x with a x = b. b has matrices, or is one vector. MatrixError if a is singular.
Tensor solve(const Operand& a, const Operand& b);
/// The inverse. MatrixError if a is singular.
Tensor inv(const Operand& a);
/// The determinant of each matrix.
Tensor det(const Operand& a);

struct Slogdet {
  Tensor sign;       ///< -1, 0 or 1
  Tensor logarithm;  ///< of the size of the determinant; -inf if that is zero
};
/// The determinant of each matrix, where it would overflow or underflow.
Slogdet slogdet(const Operand& a);

struct Qr {
  Tensor q;  ///< [..., rows, min(rows, columns)], orthonormal columns
  Tensor r;  ///< [..., min(rows, columns), columns], upper triangular, no diagonal element negative
};
/// Q R = a.
Qr qr(const Operand& a);

struct Eigh {
  Tensor values;   ///< in ascending order
  Tensor vectors;  ///< as columns of length 1; the element of largest size is positive
};
/// Eigenvalues and eigenvectors of the symmetric part of a.
Eigh eigh(const Operand& a);

struct Svd {
  Tensor
      u;  ///< [..., rows, min(rows, columns)]; the element of largest size in a column is positive
  Tensor s;   ///< in descending order
  Tensor vh;  ///< [..., min(rows, columns), columns]
};
/// U diag(s) Vh = a.
Svd svd(const Operand& a);

/// x for which a x - b is shortest, or of several the shortest one. a has full rank.
Tensor lstsq(const Operand& a, const Operand& b);
/// The pseudoinverse. Singular values up to `rcond` times the largest count as zero; below 0: up to
/// max(rows, columns) times the rounding of the type.
Tensor pinv(const Operand& a, double rcond = -1);
/// The product of n equal matrices; of -n inverses if n is negative.
Tensor matrix_power(const Operand& a, std::int64_t n);

}  // namespace tenure
