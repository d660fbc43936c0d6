#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/triangle.h"

// Note: how factors are computed
//
// By halves: the first half of the columns, then what it does to the second, then that. All that is
// left at the end of the recursion are products of matrices, which gemm/ computes on all threads
// and subtracts where they belong, and blocks of few columns, which loops do.
//
// The same functions, on matrices without data, find out how much workspace that takes.

namespace tenure::kernels::linalg {

/// Computes products in a workspace; made without one, it measures what they take.
template <class T>
class Products {
 public:
  Products() = default;
  explicit Products(std::span<std::byte> workspace) : room_(workspace), measures_(false) {}

  /// c -= a b; numbers of a row of c are neighbours.
  void subtract(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b);
  /// c = a b; c is dense.
  void multiply(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b);
  /// c += a b; numbers of a row of c are neighbours.
  void add(const Matrix<T>& c, const Matrix<T>& a, const Matrix<T>& b);
  /// The workspace as numbers, until a product is computed.
  T* numbers(std::int64_t n);
  bool measures() const { return measures_; }
  std::size_t bytes() const { return bytes_; }

 private:
  bool has_room(const View& a, const View& b, const View& c);

  std::span<std::byte> room_{};
  std::size_t bytes_ = 0;
  bool measures_ = true;
};

/// a = L L^T, of which the lower triangle is read and overwritten by L. -1, or the pivot that is
/// not positive.
template <class T>
std::int64_t factor_cholesky(const Matrix<T>& a, Products<T>& products);

/// P a = L U in place of a square matrix: row i was swapped with row pivots[i], in order. -1, or
/// the first pivot that is zero; the factors are there all the same.
template <class T>
std::int64_t factor_lu(const Matrix<T>& a, std::int64_t* pivots, Products<T>& products);

/// b = a^-1 b of a triangular matrix, of which the triangle alone is read.
template <class T>
void solve_triangle(const Matrix<T>& a, Triangle triangle, const Matrix<T>& b,
                    Products<T>& products);

}  // namespace tenure::kernels::linalg
