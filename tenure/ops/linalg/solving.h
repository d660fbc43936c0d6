#pragma once

#include <cstdint>

#include "tenure/ops/core/record.h"
#include "tenure/ops/linalg/matrices.h"

// What the ops that solve and decompose make of their calls. In solving.cpp.

namespace tenure::ops {

/// They compute in the type of their operands, or in float64.
inline constexpr std::uint32_t kSolvedTypes =
    types_where([](DType dtype) { return dtype == DType::float32 || dtype == DType::float64; });

struct TriangularAttributes {
  enum : int { upper, transposed, unit };
};
struct PinvAttributes {
  enum : int { rcond };
};
struct MatrixPowerAttributes {
  enum : int { power };
};

/// Throws ShapeError unless the shape has two dimensions at least.
void require_matrices(const Shape& a, const char* op);
/// The same, and unless the last two are equal.
void require_square(const Shape& a, const char* op);

/// The leading dimensions of matrices.
Shape leading(const Shape& matrices);
/// With these two behind them.
Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns);
/// The leading dimensions of a and b, broadcast.
Shape solved_batch(const Shape& a, const Shape& b, const char* op);

/// Of x in a x = b: a is square, b is a matrix or, with one dimension alone, a vector. Or a typed
/// error.
Spec solved_spec(const Kernel& k);

}  // namespace tenure::ops
