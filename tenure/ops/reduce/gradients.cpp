#include "tenure/ops/reduce/gradients.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tenure/ops/core/tape.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/reduce/axes.h"
#include "tenure/ops/reduce/reduction.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops::gradients {
namespace {

Axes axes_of(const Backward& b, int attribute = 0) {
  return reduced_axes(b.attributes.dims(attribute), b.specs[0].shape.size(), "gradient");
}

/// A result with its reduced dimensions again, of size 1.
Tensor with_dims(const Backward& b, Tensor result, int attribute = 0) {
  if (b.attributes.flag(attribute + 1) || result.rank() == 0) return result;
  for (const std::int64_t axis : axes_of(b, attribute)) {
    result = expand_dims(b.at(std::move(result)), static_cast<int>(axis));
  }
  return result;
}

/// How many elements go into each result.
double elements(const Backward& b) {
  const Shape& shape = b.specs[0].shape;
  double n = 1;
  for (const std::int64_t axis : axes_of(b)) {
    n *= static_cast<double>(shape[static_cast<int>(axis)]);
  }
  return n;
}

/// `gradient`, with all dimensions, times `factor` over the number of elements that go into each
/// result less `correction`, which is no less than 0.
Tensor over_elements(const Backward& b, Tensor gradient, double factor, double correction) {
  const double n = elements(b) - correction;
  return mul(b.at(std::move(gradient)), factor / std::max(n, 0.0));
}

int axis_along(const Backward& b) {
  return axis_of(b.attributes.integer(AxiswiseAttributes::axis), b.specs[0].shape.size(),
                 "gradient");
}

Tensor shared_by_equals(const Backward& b, const Tensor& is_equal, Tensor gradient,
                        const Axes& axes) {
  Tensor count = cast(b.at(tenure::sum(Operand(is_equal, b.site), axes, true)), gradient.dtype());
  Tensor part = div(b.at(std::move(gradient)), b.at(std::move(count)));
  return where(Operand(is_equal, b.site), b.at(std::move(part)), 0.0);
}

/// The product of all elements before each along an axis.
Tensor products_before(const Backward& b, const Tensor& x, int axis) {
  const std::int64_t n = x.shape()[axis];
  Tensor first = tenure::slice(Operand(x, b.site), axis, 0, 1);
  first = broadcast_like(b.at(ones({}, x.dtype(), b.site)), b.at(std::move(first)));
  Tensor others = tenure::cumprod(b.at(tenure::slice(Operand(x, b.site), axis, 0, n - 1)), axis);
  return concat({b.at(std::move(first)), b.at(std::move(others))}, axis);
}

/// The product of all others along an axis: that of those before times that of those behind, which
/// needs no division.
Tensor products_of_others(const Backward& b, const Tensor& x, int axis) {
  Tensor before = products_before(b, x, axis);
  const Tensor reversed = flip(Operand(x, b.site), axis);
  Tensor behind = flip(b.at(products_before(b, reversed, axis)), axis);
  return mul(b.at(std::move(before)), b.at(std::move(behind)));
}

}  // namespace

void sum(Backward& b) {
  b.results[0] = broadcast_to_input(b, 0, with_dims(b, std::move(b.gradients[0])));
}

void sum_like(Backward& b) {
  if (b.wants(0)) b.results[0] = broadcast_to_input(b, 0, std::move(b.gradients[0]));
}

void mean(Backward& b) {
  Tensor part = over_elements(b, with_dims(b, std::move(b.gradients[0])), 1, 0);
  b.results[0] = broadcast_to_input(b, 0, std::move(part));
}

void prod(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  Tensor gradient = with_dims(b, std::move(b.gradients[0]));
  if (shape.empty() || count(shape) == 0) {
    b.results[0] = broadcast_to_input(b, 0, std::move(gradient));
    return;
  }
  // Axis by axis: the others along the first one times, of the products along it, the others along
  // the second one, ...
  Tensor x = std::move(b.inputs[0]);
  Tensor others;
  const Axes axes = axes_of(b);
  for (const std::int64_t a : axes) {
    const int axis = static_cast<int>(a);
    Tensor along = products_of_others(b, x, axis);
    others =
        others.defined() ? mul(b.at(std::move(others)), b.at(std::move(along))) : std::move(along);
    if (a != axes.back()) x = tenure::prod(b.at(std::move(x)), axis, true);
  }
  b.results[0] = mul(b.at(std::move(others)), b.at(std::move(gradient)));
}

void extremum(Backward& b) {
  const Tensor best = with_dims(b, std::move(b.outputs[0]));
  const Tensor is_best = equal(b.input(0), Operand(best, b.site));
  b.results[0] = shared_by_equals(b, is_best, with_dims(b, std::move(b.gradients[0])), axes_of(b));
}

void var(Backward& b) {
  Tensor middle = tenure::mean(b.input(0), axes_of(b), true);
  Tensor scaled = over_elements(b, with_dims(b, std::move(b.gradients[0])), 2,
                                b.attributes.number(VarianceAttributes::correction));
  Tensor deviation = sub(b.take_input(0), b.at(std::move(middle)));
  b.results[0] = mul(b.at(std::move(deviation)), b.at(std::move(scaled)));
}

void stddev(Backward& b) {
  Tensor middle = tenure::mean(b.input(0), axes_of(b), true);
  // Where all elements are equal there is a corner, and zero is as good as any slope.
  const Tensor is_zero = equal(b.output(), 0);
  Tensor divisor = where(Operand(is_zero, b.site), 1.0, b.take_output());
  Tensor scaled = div(b.take_gradient(), b.at(std::move(divisor)));
  scaled = over_elements(b, with_dims(b, std::move(scaled)), 1,
                         b.attributes.number(VarianceAttributes::correction));
  Tensor deviation = sub(b.take_input(0), b.at(std::move(middle)));
  b.results[0] = mul(b.at(std::move(deviation)), b.at(std::move(scaled)));
}

void logsumexp(Backward& b) {
  Tensor total = with_dims(b, std::move(b.outputs[0]));
  Tensor share = exp(b.at(sub(b.take_input(0), b.at(std::move(total)))));
  b.results[0] = mul(b.at(std::move(share)), b.at(with_dims(b, std::move(b.gradients[0]))));
}

void norm(Backward& b) {
  const double order = b.attributes.number(VectorNormAttributes::order);
  Tensor gradient = with_dims(b, std::move(b.gradients[0]), 1);
  const Tensor size = with_dims(b, std::move(b.outputs[0]), 1);
  if (order == 0) return;
  if (order == 1) {
    b.results[0] = mul(b.at(sign(b.take_input(0))), b.at(std::move(gradient)));
    return;
  }
  if (std::isinf(order)) {
    const Tensor is_extreme = equal(b.at(abs(b.input(0))), Operand(size, b.site));
    Tensor part = shared_by_equals(b, is_extreme, std::move(gradient),
                                   axes_of(b, VectorNormAttributes::axes));
    b.results[0] = mul(b.at(std::move(part)), b.at(sign(b.take_input(0))));
    return;
  }
  // x |x|^(order - 2) / size^(order - 1), and zero where all elements are.
  const Tensor is_zero = equal(Operand(size, b.site), 0);
  const Tensor divisor = where(Operand(is_zero, b.site), 1.0, Operand(size, b.site));
  if (order == 2) {
    Tensor scaled = div(b.at(std::move(gradient)), Operand(divisor, b.site));
    b.results[0] = mul(b.take_input(0), b.at(std::move(scaled)));
    return;
  }
  Tensor share = pow(b.at(div(b.at(abs(b.input(0))), Operand(divisor, b.site))), order - 1);
  share = mul(b.at(std::move(share)), b.at(sign(b.take_input(0))));
  b.results[0] = mul(b.at(std::move(share)), b.at(std::move(gradient)));
}

namespace {

Tensor reversed_cumsum(const Backward& b, Tensor x, int axis) {
  if (x.rank() == 0) return x;
  x = flip(b.at(std::move(x)), axis);
  return flip(b.at(tenure::cumsum(b.at(std::move(x)), axis)), axis);
}

}  // namespace

void cumsum(Backward& b) {
  b.results[0] = reversed_cumsum(b, std::move(b.gradients[0]), axis_along(b));
}

namespace {

/// What lies `by` further along an axis; zeros behind the end.
Tensor moved_up(const Backward& b, const Tensor& x, int axis, std::int64_t by) {
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(axis)].second = by;
  return tenure::pad(b.at(tenure::slice(Operand(x, b.site), axis, by)), widths);
}

/// The gradient of cumprod without a division: the products of those before each element, times
/// s[i] = dy[i] + x[i + 1] s[i + 1]. That recurrence is unrolled by doubling: s[i] is
/// sums[i] + factors[i] s[i + by].
Tensor cumprod_gradient_of_products(const Backward& b, int axis) {
  const Tensor& x = b.inputs[0];
  Tensor sums = b.gradients[0];
  Tensor factors = moved_up(b, x, axis, 1);
  for (std::int64_t by = 1; by < x.shape()[axis]; by *= 2) {
    Tensor more = mul(Operand(factors, b.site), b.at(moved_up(b, sums, axis, by)));
    sums = add(b.at(std::move(sums)), b.at(std::move(more)));
    Tensor further = moved_up(b, factors, axis, by);
    factors = mul(b.at(std::move(factors)), b.at(std::move(further)));
  }
  return mul(b.at(products_before(b, x, axis)), b.at(std::move(sums)));
}

}  // namespace

void cumprod(Backward& b) {
  const int axis = axis_along(b);
  // To go back once more, no slope may be lost in a division, and none at a zero in a choice.
  if (current_tape() != nullptr && !b.specs[0].shape.empty() && count(b.specs[0].shape) > 0) {
    b.results[0] = cumprod_gradient_of_products(b, axis);
    return;
  }
  // The slope of y[k] by x[i] is y[k] / x[i] before the first zero along the axis, and 0 behind it.
  // At the first zero it is what y[k] would be if that were a one.
  const Tensor is_zero = equal(b.input(0), 0);
  const Tensor zeros_so_far = tenure::cumsum(Operand(is_zero, b.site), axis);
  const Tensor is_first =
      logical_and(Operand(is_zero, b.site), b.at(equal(Operand(zeros_so_far, b.site), 1)));
  const Tensor with_one = where(Operand(is_first, b.site), 1.0, b.input(0));
  Tensor products = tenure::cumprod(Operand(with_one, b.site), axis);
  Tensor at_first = reversed_cumsum(b, mul(b.gradient(), b.at(std::move(products))), axis);

  Tensor before = reversed_cumsum(b, mul(b.take_gradient(), b.take_output()), axis);
  before = div(b.at(std::move(before)), Operand(with_one, b.site));
  const Tensor is_before = equal(Operand(zeros_so_far, b.site), 0);
  before = where(Operand(is_before, b.site), b.at(std::move(before)), 0.0);
  b.results[0] =
      where(Operand(is_first, b.site), b.at(std::move(at_first)), b.at(std::move(before)));
}

void softmax(Backward& b) {
  b.results[0] = tenure::softmax_gradient(b.take_gradient(), b.take_output(), axis_along(b));
}

void log_softmax(Backward& b) {
  b.results[0] = tenure::log_softmax_gradient(b.take_gradient(), b.take_output(), axis_along(b));
}

namespace {

/// With the axis kept. The only element of a tensor without axes is its own sum.
Tensor sum_along(const Backward& b, Tensor x, int axis) {
  return x.rank() == 0 ? x : tenure::sum(b.at(std::move(x)), axis, true);
}

}  // namespace

void softmax_gradient(Backward& b) {
  // y (dy - <dy, y>), with u the gradient that arrives: by y, u (dy - <dy, y>) - dy <u, y>.
  const int axis = axis_along(b);
  if (b.wants(1)) {
    Tensor inner = sum_along(b, mul(b.input(0), b.input(1)), axis);
    Tensor rest = mul(b.gradient(), b.at(sub(b.input(0), b.at(std::move(inner)))));
    Tensor outer = sum_along(b, mul(b.gradient(), b.input(1)), axis);
    outer = mul(b.input(0), b.at(std::move(outer)));
    b.results[1] = sub(b.at(std::move(rest)), b.at(std::move(outer)));
  }
  if (b.wants(0)) b.results[0] = tenure::softmax_gradient(b.take_gradient(), b.input(1), axis);
}

void log_softmax_gradient(Backward& b) {
  // dy - e^y <dy, 1>, with u the gradient that arrives: by y, -u e^y <dy, 1>.
  const int axis = axis_along(b);
  const Tensor weighted = mul(b.gradient(), b.at(exp(b.input(1))));
  if (b.wants(1)) {
    Tensor total = sum_along(b, neg(b.input(0)), axis);
    b.results[1] = mul(Operand(weighted, b.site), b.at(std::move(total)));
  }
  if (b.wants(0)) {
    b.results[0] = sub(b.take_gradient(), b.at(sum_along(b, weighted, axis)));
  }
}

template <bool largest>
void running_extremum(Backward& b) {
  const Tensor& x = b.inputs[0];
  const int axis = axis_along(b);
  const std::int64_t n = x.rank() == 0 ? 1 : x.dim(axis);
  if (n < 2) {
    b.results[0] = std::move(b.gradients[0]);
    return;
  }
  // Where the result changes; before it does, the place is 0.
  const Tensor before = tenure::slice(b.output(), axis, 0, n - 1);
  const Tensor now = tenure::slice(b.input(0), axis, 1);
  const Tensor changes = (largest ? greater : less)({now, b.site}, {before, b.site});
  Shape along = Shape::filled(x.rank(), 1);
  along[axis] = n - 1;
  const Tensor places = tenure::reshape(b.at(arange(1, n, 1, DType::int64, b.site)), along);
  Tensor place = where(Operand(changes, b.site), Operand(places, b.site), 0);
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(static_cast<std::size_t>(x.rank()));
  widths[static_cast<std::size_t>(axis)].first = 1;
  place = tenure::cummax(b.at(tenure::pad(b.at(std::move(place)), widths)), axis);
  b.results[0] = scatter(b.at(zeros_of_input(b, 0)), axis, Operand(place, b.site),
                         b.take_gradient(), ScatterMode::add);
}

template void running_extremum<true>(Backward& b);
template void running_extremum<false>(Backward& b);

}  // namespace tenure::ops::gradients
