#pragma once

#include <cstdint>

#include "tenure/kernels/cpu/linalg/matrix.h"

namespace tenure::kernels::linalg {

enum class Triangle { lower, lower_unit, upper, upper_unit };

/// Rows of a triangle that loops solve.
inline constexpr std::int64_t kSmallTriangle = 16;

/// b = a^-1 b, row by row, from the first of a lower triangle or the last of an upper one, of up to
/// kSmallTriangle. Numbers of a row of b are neighbours. In triangle.cpp.
template <class T>
void solve_small_triangle(const Matrix<T>& a, Triangle triangle, const Matrix<T>& b);

}  // namespace tenure::kernels::linalg
