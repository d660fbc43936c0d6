#include "tenure/kernels/cpu/linalg/panel.h"

#include "tenure/kernels/cpu/gemm/gemm.h"
#include "tenure/kernels/cpu/linalg/vectors.h"

namespace tenure::kernels::linalg {
namespace {

void multiply(const Matrix<double>& a, const double* x, std::int64_t step, double* y) {
  const Gemm shape{.m = a.rows,
                   .n = 1,
                   .k = a.columns,
                   .a_row = a.row_step,
                   .a_column = a.column_step,
                   .b_row = step,
                   .b_column = 1,
                   .c_row = 1};
  gemv(DType::float64, shape, a.data, x, y);
}

}  // namespace

void multiply(const Matrix<double>& a, const double* x, double* y) { multiply(a, x, 1, y); }

void Panel::add(const Matrix<double>& rows, const double* y, std::int64_t step, double* x) const {
  if (rows.rows == 0) return;
  multiply(rows.transposed(), y, step, room_);
  add_scaled(1, room_, x, rows.columns);
}

void Panel::add(const Matrix<double>& rows, const Matrix<double>& others, const double* y,
                double* x) const {
  if (rows.rows == 0) return;
  multiply(others, y, 1, weights_);
  add(rows, weights_, 1, x);
}

}  // namespace tenure::kernels::linalg
