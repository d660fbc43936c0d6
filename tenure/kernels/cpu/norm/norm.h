#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels {

/// A matrix that is normalized along its rows (layer norm) or its columns (batch norm): x^ = (x -
/// mean) / sqrt(variance + epsilon), y = x^ weight + bias. `rms` leaves the mean out.
struct Normalization {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  double epsilon = 0;
  bool rms = false;
};

// Elements are float32 or float64, contiguous. Weight and bias are one for each column; null stands
// for ones and zeros. Gradients are summed in parts that do not depend on the number of threads.

// In rows.cpp.
void normalize_rows(const Normalization& n, DType dtype, const void* x, const void* weight,
                    const void* bias, void* y);
/// dx, which may be dy, and the gradients by weight and bias; those may be null.
void normalize_rows_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                             const void* weight, void* dx, void* dweight, void* dbias,
                             std::span<std::byte> workspace);
std::size_t normalize_rows_gradient_workspace(const Normalization& n, DType dtype);

// In columns.cpp.
/// Also gives the mean and the variance, without correction, of every column.
void normalize_columns(const Normalization& n, DType dtype, const void* x, const void* weight,
                       const void* bias, void* y, void* mean, void* variance,
                       std::span<std::byte> workspace);
void normalize_columns_gradient(const Normalization& n, DType dtype, const void* dy, const void* x,
                                const void* weight, void* dx, void* dweight, void* dbias,
                                std::span<std::byte> workspace);
std::size_t normalize_columns_workspace(const Normalization& n, DType dtype);

}  // namespace tenure::kernels
