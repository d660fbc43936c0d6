#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/kernels/cpu/linalg/factor.h"
#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/rooms.h"

// Note: reflections by blocks
//
// The product of k reflections I - factor v v^T is I - V T V^T with V's columns their vectors and T
// upper triangular (Schreiber and Van Loan). So k of them are two products of matrices, which read
// and write what they reflect once, not k times.
//
// Everything here is transposed: vectors lie in rows. Row i of V has zeros before its 1, which is
// in column i.

namespace tenure::kernels::linalg {

/// Applies reflections in blocks; made without rooms, it measures what products take.
class Blocks {
 public:
  static constexpr std::int64_t kMost = 32;  ///< reflections of a block

  Blocks() = default;
  /// Of vectors of up to so many numbers. `product_bytes` is what measuring found.
  Blocks(Rooms& rooms, std::int64_t numbers, std::size_t product_bytes);

  enum class Order { first_to_last, last_to_first };
  /// The rows of v, at most kMost, reflect each row of `vectors`, in this order.
  void reflect(const Matrix<double>& v, const double* factors, Order order,
               const Matrix<double>& vectors);
  /// Rows with reflections become the first columns of their product, in rows. Up to kMost of them
  /// take no rooms.
  void form(const Matrix<double>& rows, const double* factors);
  /// c += a b.
  void add(const Matrix<double>& c, const Matrix<double>& a, const Matrix<double>& b);

  bool measures() const { return products_.measures(); }
  std::size_t product_bytes() const { return products_.bytes(); }

 private:
  void make_triangle(std::int64_t n, const double* factors);

  double* copy_ = nullptr;      // of a block's vectors
  double* times_ = nullptr;     // -T or -T^T times them
  double* squares_ = nullptr;   // kMost x kMost
  double* triangle_ = nullptr;  // the same, of -T
  double* between_ = nullptr;   // of the two products
  Products<double> products_;
};

/// How many reflections change their own row or column alone before the rest of a matrix of n
/// columns is brought up to date; all of a small one.
inline std::int64_t panel_of(std::int64_t n) {
  constexpr std::int64_t kPanel = 16;
  return n <= Blocks::kMost ? n : kPanel;
}

}  // namespace tenure::kernels::linalg
