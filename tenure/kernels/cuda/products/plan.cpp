#include "tenure/kernels/cuda/products/plan.h"

#include <utility>

#include "tenure/base/error.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/ops/linalg/matrices.h"

namespace tenure::kernels::cuda {
namespace {

View leading(View view) {
  for (int i = 0; i < 2; ++i) {
    view.shape.erase(view.shape.size() - 1);
    view.strides.erase(view.strides.size() - 1);
  }
  return view;
}

/// A row or a column that exists once may have any stride: one that tells the most.
void tidy(std::int64_t rows, std::int64_t columns, std::int64_t& row, std::int64_t& column) {
  if (columns == 1) column = 1;
  if (rows == 1) row = column == 1 ? columns : 1;
}

/// The same product as that of the transposes, in the other order.
void turn(ProductPlan& plan) {
  std::swap(plan.m, plan.n);
  std::swap(plan.a_row, plan.b_column);
  std::swap(plan.a_column, plan.b_row);
  for (int d = 0; d < plan.batch.rank; ++d) {
    std::swap(plan.batch.strides[0][d], plan.batch.strides[1][d]);
  }
  plan.is_turned = true;
}

}  // namespace

ProductPlan product_plan(const View& a, const View& b) {
  View c{.dtype = a.dtype, .shape = ops::matrix_shape(a.shape, b.shape)};
  c.strides = contiguous_strides(c.shape);
  return product_plan(a, b, c);
}

ProductPlan product_plan(const View& a, const View& b, const View& c) {
  const Shape& shape = c.shape;
  const int rank = shape.size();
  ProductPlan plan{.m = shape[rank - 2],
                   .n = shape[rank - 1],
                   .k = a.shape.back(),
                   .a_row = a.strides[a.shape.size() - 2],
                   .a_column = a.strides.back(),
                   .b_row = b.strides[b.shape.size() - 2],
                   .b_column = b.strides.back()};
  plan.c_row = c.strides[rank - 2];
  std::int64_t c_column = c.strides.back();
  tidy(plan.m, plan.n, plan.c_row, c_column);
  const View batch = leading(c);
  const View of_a = leading(a);
  const View of_b = leading(b);
  const Strides steps_a = broadcast_strides(of_a.shape, of_a.strides, batch.shape);
  const Strides steps_b = broadcast_strides(of_b.shape, of_b.strides, batch.shape);
  plan.batch = loops_over(batch.shape, {&steps_a, &steps_b, &batch.strides});
  if (plan.batch.rank == 1 && plan.batch.strides[1][0] == 0 &&
      plan.batch.strides[0][0] == plan.m * plan.a_row &&
      plan.batch.strides[2][0] == plan.m * plan.c_row && c_column == 1) {
    plan.m *= plan.batch.count;
    plan.batch = no_loops(3);
  }
  tidy(plan.m, plan.k, plan.a_row, plan.a_column);
  tidy(plan.k, plan.n, plan.b_row, plan.b_column);
  if (c_column != 1) {
    internal_check(plan.c_row == 1, "results lie in rows or in columns");
    plan.c_row = c_column;
    turn(plan);
  }
  return plan;
}

}  // namespace tenure::kernels::cuda
