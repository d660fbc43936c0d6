#pragma once

#include <cstdint>

namespace tenure::kernels::linalg {

// Loops over contiguous numbers, in vectors of the CPU's instruction set. In vectors.cpp.

/// The sum of x[i] y[i].
double dot(const double* x, const double* y, std::int64_t n);
/// y += factor x.
void add_scaled(double factor, const double* x, double* y, std::int64_t n);
/// (x, y) becomes (cosine x + sine y, cosine y - sine x).
void rotate(double cosine, double sine, double* x, double* y, std::int64_t n);

}  // namespace tenure::kernels::linalg
