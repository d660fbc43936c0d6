#pragma once

#include <cstdint>

namespace tenure::kernels::linalg {

// Loops over contiguous numbers, in vectors of the CPU's instruction set. In vectors.cpp.

/// The sum of x[i] y[i].
double dot(const double* x, const double* y, std::int64_t n);
/// The largest |x[i]|, and zero of none.
double largest_size(const double* x, std::int64_t n);
/// y += factor x.
void add_scaled(double factor, const double* x, double* y, std::int64_t n);
/// Adds to y what rows [begin, end) of the upper triangle of a symmetric matrix give of its product
/// with x: that of each row, and, as numbers below the diagonal are those above it, of each column.
void add_symmetric_rows(const double* a, std::int64_t step, std::int64_t n, std::int64_t begin,
                        std::int64_t end, const double* x, double* y);

/// Numbers that rotations turn at once.
inline constexpr std::int64_t kStrip = 16;
/// Rotation i turns x and y, kStrip numbers at i step and at (i + 1) step of `strip`, to
/// cosine x + sine y and cosine y - sine x: each number is read and written once.
void turn_strip(const double* cosines, const double* sines, std::int64_t count, double* strip,
                std::int64_t step);

}  // namespace tenure::kernels::linalg
