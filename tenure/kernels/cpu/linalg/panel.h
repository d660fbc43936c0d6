#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/matrix.h"
#include "tenure/kernels/cpu/linalg/rooms.h"

namespace tenure::kernels::linalg {

/// y becomes a x, for a matrix whose numbers of a row, or of a column, are neighbours. In
/// panel.cpp.
void multiply(const Matrix<double>& a, const double* x, double* y);

/// What a panel of reflections, and what they make of the matrix, add to a vector.
class Panel {
 public:
  Panel() = default;
  /// Of up to `most` vectors of up to n numbers each.
  Panel(Rooms& rooms, std::int64_t most, std::int64_t n)
      : weights_(rooms.take<double>(most)), room_(rooms.take<double>(n)) {}

  /// x += rows^T y; numbers of y are `step` apart.
  void add(const Matrix<double>& rows, const double* y, std::int64_t step, double* x) const;
  /// x += rows^T (others y).
  void add(const Matrix<double>& rows, const Matrix<double>& others, const double* y,
           double* x) const;

 private:
  double* weights_ = nullptr;
  double* room_ = nullptr;
};

}  // namespace tenure::kernels::linalg
