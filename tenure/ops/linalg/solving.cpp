#include "tenure/ops/linalg/solving.h"

#include <fmt/format.h>

#include "tenure/ops/linalg_error.h"

namespace tenure {

MatrixError::MatrixError(const std::string& op, const std::string& problem, std::int64_t matrix,
                         std::int64_t pivot)
    : ValueError(fmt::format("{}: matrix {} of the batch is {}: pivot {} is the first to fail", op,
                             matrix, problem, pivot)),
      op_(op),
      matrix_(matrix),
      pivot_(pivot) {}

}  // namespace tenure

namespace tenure::ops {

void require_matrices(const Shape& a, const char* op) {
  if (a.size() >= 2) return;
  throw ShapeError(op, fmt::format("shape {} is none of matrices", to_string(a)), {a.to_vector()});
}

void require_square(const Shape& a, const char* op) {
  require_matrices(a, op);
  const std::int64_t rows = a[a.size() - 2];
  if (rows == a.back()) return;
  throw ShapeError(op, fmt::format("{} rows and {} columns are no square matrix", rows, a.back()),
                   {a.to_vector()});
}

Shape leading(const Shape& matrices) {
  Shape batch = matrices;
  batch.erase(batch.size() - 1);
  batch.erase(batch.size() - 1);
  return batch;
}

Shape with_matrix(Shape batch, std::int64_t rows, std::int64_t columns) {
  batch.push_back(rows);
  batch.push_back(columns);
  return batch;
}

Shape solved_batch(const Shape& a, const Shape& b, const char* op) {
  return broadcast(leading(a), leading(b), op);
}

Spec solved_spec(const Kernel& k) {
  const Shape& a = k.in[0].shape;
  const Shape& b = k.in[1].shape;
  require_square(a, k.op);
  if (b.empty()) throw ShapeError(k.op, "the right side is a number", {a.to_vector(), {}});
  if (k.in[0].dtype != k.in[1].dtype) {
    throw DTypeError(k.op, fmt::format("the matrix is {} and the right side {}; cast one of them",
                                       name_of(k.in[0].dtype), name_of(k.in[1].dtype)));
  }
  const bool is_vector = b.size() == 1;
  const std::int64_t rows = is_vector ? b[0] : b[b.size() - 2];
  if (rows != a.back()) {
    throw ShapeError(
        k.op, fmt::format("a matrix of {} rows and a right side of {} do not fit", a.back(), rows),
        {a.to_vector(), b.to_vector()});
  }
  if (is_vector) {
    Shape shape = leading(a);
    shape.push_back(rows);
    return {k.in[0].dtype, shape};
  }
  return {k.in[0].dtype, with_matrix(solved_batch(a, b, k.op), rows, b.back())};
}

}  // namespace tenure::ops
