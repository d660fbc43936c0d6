#include "tenure/ops/linalg/rules.h"

#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/linalg/solving.h"
#include "tenure/ops/linalg_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops::rules {
namespace {

/// A number for each matrix, as one by one matrices.
Tensor as_matrices(const Backward& b, const Operand& numbers) {
  return expand_dims(b.at(expand_dims(numbers, -1)), -1);
}

/// -column row^T, of vectors too.
Tensor minus_product(const Backward& b, const Tensor& column, const Tensor& row) {
  return neg(b.at(matmul({column, b.site}, b.at(transpose({row, b.site})))));
}

/// With a dimension of one column, if the right side of a call was a vector.
Tensor as_columns(const Backward& b, const Operand& x) {
  if (b.specs[1].shape.size() == 1) return expand_dims(x, -1);
  return x.tensor();
}

/// The gradient of the right side, which `solved` is, as its input has it.
Tensor right_side(const Backward& b, const Tensor& solved) {
  if (b.specs[1].shape.size() > 1) return to_input(b, 1, solved);
  return to_input(b, 1, squeeze({solved, b.site}, -1));
}

}  // namespace

void cholesky(Backward& b) {
  // Of P = L^T G the lower triangle, mirrored; then L^-T M L^-1 / 2.
  const Tensor p = matmul(b.at(transpose(b.output())), b.gradient());
  const Tensor mirrored =
      add(b.at(tril({p, b.site})), b.at(transpose(b.at(tril({p, b.site}, -1)))));
  const TriangularOptions back{.transposed = true};
  const Tensor half = solve_triangular(b.output(), {mirrored, b.site}, back);
  const Tensor whole = solve_triangular(b.output(), b.at(transpose({half, b.site})), back);
  b.results[0] = mul({whole, b.site}, {0.5, b.site});
}

void solve_triangular(Backward& b) {
  TriangularOptions back{.upper = b.attributes.flag(TriangularAttributes::upper),
                         .transposed = !b.attributes.flag(TriangularAttributes::transposed),
                         .unit = b.attributes.flag(TriangularAttributes::unit)};
  const Tensor g = as_columns(b, b.gradient());
  const Tensor solved = tenure::solve_triangular(b.input(0), {g, b.site}, back);
  if (b.wants(0)) {
    const Tensor x = as_columns(b, b.output());
    const Tensor whole =
        back.transposed ? minus_product(b, solved, x) : minus_product(b, x, solved);
    const std::int64_t beside = back.unit ? 1 : 0;
    b.results[0] =
        to_input(b, 0, back.upper ? triu({whole, b.site}, beside) : tril({whole, b.site}, -beside));
  }
  if (b.wants(1)) b.results[1] = right_side(b, solved);
}

void solve(Backward& b) {
  const Tensor g = as_columns(b, b.gradient());
  const Tensor solved = tenure::solve(b.at(transpose(b.input(0))), {g, b.site});
  if (b.wants(0)) {
    b.results[0] = to_input(b, 0, minus_product(b, solved, as_columns(b, b.output())));
  }
  if (b.wants(1)) b.results[1] = right_side(b, solved);
}

void inv(Backward& b) {
  const Tensor turned = transpose(b.output());
  const Tensor half = matmul({turned, b.site}, b.gradient());
  b.results[0] = neg(b.at(matmul({half, b.site}, {turned, b.site})));
}

void det(Backward& b) {
  const Tensor scale = mul(b.gradient(), b.output());
  const Tensor turned = transpose(b.at(tenure::inv(b.input(0))));
  b.results[0] = mul(b.at(as_matrices(b, {scale, b.site})), {turned, b.site});
}

void slogdet(Backward& b) {
  if (!b.gradients[1].defined()) return;
  const Tensor turned = transpose(b.at(tenure::inv(b.input(0))));
  b.results[0] = mul(b.at(as_matrices(b, b.gradient(1))), {turned, b.site});
}

void pinv(Backward& b) {
  const auto at = [&](const Tensor& x) { return Operand(x, b.site); };
  const Operand a = b.input(0);
  const Operand p = b.output();
  const Tensor turned = transpose(p);
  const Tensor g = transpose(b.gradient());
  const Tensor pg = matmul(p, at(g));
  const Tensor gp = matmul(at(g), p);
  const Tensor inside = neg(b.at(matmul(at(turned), b.at(matmul(b.gradient(), at(turned))))));
  const Tensor left = sub(at(g), b.at(matmul(a, at(pg))));
  const Tensor right = sub(at(g), b.at(matmul(at(gp), a)));
  const Tensor below = matmul(b.at(matmul(at(left), p)), at(turned));
  const Tensor beside = matmul(at(turned), b.at(matmul(p, at(right))));
  b.results[0] = add(b.at(add(at(inside), at(below))), at(beside));
}

}  // namespace tenure::ops::rules
