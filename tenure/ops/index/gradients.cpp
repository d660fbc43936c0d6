#include "tenure/ops/index/gradients.h"

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/plan.h"
#include "tenure/ops/index/records.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/ops/sort/axis.h"
#include "tenure/ops/sort_ops.h"

namespace tenure::ops::gradients {
namespace {

Operand read(const Backward& b, const Tensor& tensor) { return {tensor, b.site}; }

/// 0, 1, ... in this shape.
Tensor numbered(const Backward& b, const Shape& shape) {
  return reshape(b.at(arange(count(shape), DType::int64, b.site)), shape);
}

/// The first elements along every axis, as many as `shape` has; and zeros behind them again.
Tensor cut(const Backward& b, Tensor x, const Shape& shape) {
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (x.shape()[axis] != shape[axis]) x = slice(b.at(std::move(x)), axis, 0, shape[axis]);
  }
  return x;
}
Tensor extended(const Backward& b, Tensor x, const Shape& shape) {
  if (x.shape() == shape) return x;
  std::vector<std::pair<std::int64_t, std::int64_t>> widths;
  for (int axis = 0; axis < shape.size(); ++axis) {
    widths.emplace_back(0, shape[axis] - x.shape()[axis]);
  }
  return tenure::pad(b.at(std::move(x)), widths);
}

/// What the gradients of elements that were taken several times are added to: a sum in 16 bits
/// stops growing where its terms are less than half a unit of it.
Tensor zeros_for_sums(const Backward& b) {
  return zeros(b.specs[0].shape, widened_type(b.specs[0].dtype), b.site);
}
Tensor rounded(const Backward& b, Tensor sums) {
  const DType dtype = b.specs[0].dtype;
  return sums.dtype() == dtype ? sums : cast(b.at(std::move(sums)), dtype);
}

}  // namespace

void take(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int axis =
      normalize_axis(b.attributes.integer(AlongAxisAttributes::axis), shape.size(), "take");
  std::vector<Index> places(static_cast<std::size_t>(axis), All);
  places.emplace_back(b.inputs[1]);
  b.results[0] = rounded(b, tenure::index_add(b.at(zeros_for_sums(b)), places, b.take_gradient()));
}

void gather(Backward& b) {
  const int axis = static_cast<int>(b.attributes.integer(AlongAxisAttributes::axis));
  b.results[0] = rounded(b, tenure::scatter(b.at(zeros_for_sums(b)), axis, b.input(1),
                                            b.take_gradient(), ScatterMode::add));
}

namespace {

/// Which updates are still there when all have been written.
Tensor last_written(const Backward& b, int axis) {
  const Tensor numbers = numbered(b, b.specs[1].shape);
  Tensor written = tenure::scatter(b.at(zeros(b.specs[0].shape, DType::int64, b.site)), axis,
                                   b.input(1), read(b, numbers), ScatterMode::assign);
  written = tenure::gather(b.at(std::move(written)), axis, b.input(1));
  return equal(b.at(std::move(written)), read(b, numbers));
}

/// Of the mode multiply: of each update, the product of all else that goes where it goes. Zeros
/// are counted, and are ones in the product, so that it is exact with them too.
Tensor product_of_others(const Backward& b, int axis) {
  const DType dtype = b.specs[0].dtype;
  const auto scattered = [&](Tensor to, const Tensor& updates, ScatterMode mode) {
    to = tenure::scatter(b.at(std::move(to)), axis, b.input(1), read(b, updates), mode);
    return tenure::gather(b.at(std::move(to)), axis, b.input(1));
  };
  const Tensor updates = cut(b, b.inputs[2], b.specs[1].shape);
  const Tensor was_zero = equal(b.input(0), 0);
  const Tensor is_zero = equal(read(b, updates), 0);
  const Tensor own_zero = cast(read(b, is_zero), dtype);
  const Tensor divisor = where(read(b, is_zero), 1.0, read(b, updates));
  Tensor zeros = scattered(cast(read(b, was_zero), dtype), own_zero, ScatterMode::add);
  zeros = sub(b.at(std::move(zeros)), read(b, own_zero));
  const Tensor has_none = equal(b.at(std::move(zeros)), 0);
  Tensor product =
      scattered(where(read(b, was_zero), 1.0, b.input(0)), divisor, ScatterMode::multiply);
  product = div(b.at(std::move(product)), read(b, divisor));
  return where(read(b, has_none), b.at(std::move(product)), 0.0);
}

/// Of the mode maximum or minimum: where the result came from, shared among equals.
void scatter_extremum(Backward& b, int axis) {
  const DType dtype = b.specs[0].dtype;
  const Tensor kept = cast(b.at(equal(b.input(0), b.output())), dtype);
  const Tensor updates = cut(b, b.inputs[2], b.specs[1].shape);
  Tensor there = tenure::gather(b.output(), axis, b.input(1));
  const Tensor came = cast(b.at(equal(read(b, updates), b.at(std::move(there)))), dtype);
  Tensor winners =
      tenure::scatter(read(b, kept), axis, b.input(1), read(b, came), ScatterMode::add);
  const Tensor part = div(b.take_gradient(), b.at(std::move(winners)));
  if (b.wants(0)) b.results[0] = mul(read(b, part), read(b, kept));
  if (b.wants(2)) {
    Tensor arrived = mul(b.at(tenure::gather(read(b, part), axis, b.input(1))), read(b, came));
    b.results[2] = extended(b, std::move(arrived), b.specs[2].shape);
  }
}

}  // namespace

void scatter(Backward& b) {
  const int axis = static_cast<int>(b.attributes.integer(ScatterAttributes::axis));
  const auto mode = static_cast<ScatterMode>(b.attributes.integer(ScatterAttributes::mode));
  if (mode == ScatterMode::maximum || mode == ScatterMode::minimum) {
    return scatter_extremum(b, axis);
  }
  if (b.wants(2)) {
    Tensor arrived;
    if (mode == ScatterMode::multiply) {
      arrived = tenure::gather(b.gradient(), axis, b.input(1));
      arrived = mul(b.at(std::move(arrived)), b.at(product_of_others(b, axis)));
    } else {
      arrived = tenure::gather(b.gradient(), axis, b.input(1));
    }
    if (mode == ScatterMode::assign) {
      const Tensor is_last = last_written(b, axis);
      arrived = where(read(b, is_last), b.at(std::move(arrived)), 0.0);
    }
    b.results[2] = extended(b, std::move(arrived), b.specs[2].shape);
  }
  if (!b.wants(0)) return;
  if (mode == ScatterMode::add) {
    b.results[0] = std::move(b.gradients[0]);
  } else if (mode == ScatterMode::assign) {
    b.results[0] = tenure::scatter(b.take_gradient(), axis, b.input(1), {0.0, b.site}, mode);
  } else {
    b.results[0] = tenure::scatter(b.take_gradient(), axis, b.input(1), b.input(2), mode);
  }
}

void mask_select(Backward& b) {
  if (b.specs[0].shape.empty()) {  // one element or none came through
    b.results[0] = sum(b.take_gradient());
    return;
  }
  b.results[0] = tenure::index_update(b.at(zeros_of_input(b, 0)), {b.inputs[1]}, b.take_gradient());
}

void index_view(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  Tensor gradient = std::move(b.gradients[0]);
  const Dims& new_axes = b.attributes.dims(IndexPartAttributes::axes);
  if (!new_axes.empty()) gradient = squeeze(b.at(std::move(gradient)), AxisList(new_axes));
  b.results[0] = call(index_update_op(),
                      {b.at(zeros(shape, b.specs[0].dtype, b.site)), b.at(std::move(gradient))},
                      Attributes(b.attributes.dims(IndexPartAttributes::starts),
                                 b.attributes.dims(IndexPartAttributes::counts),
                                 b.attributes.dims(IndexPartAttributes::steps), Axes{}));
}

void index_gather(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  Tensor zero = zeros_for_sums(b);
  Tensor gradient = std::move(b.gradients[0]);
  if (gradient.dtype() != zero.dtype()) gradient = cast(b.at(std::move(gradient)), zero.dtype());
  std::vector<Operand> operands{b.at(std::move(zero)), b.at(std::move(gradient))};
  for (std::size_t i = 1; i < b.specs.size(); ++i) operands.push_back(b.input(i));
  b.results[0] = rounded(
      b, call(index_add_op(), operands,
              Attributes(Dims::filled(shape.size(), 0), shape, Dims::filled(shape.size(), 1),
                         b.attributes.dims(IndexGatherAttributes::axes))));
}

namespace {

/// The elements of `x`, of the shape of input 0, at the places that index_update writes to.
Tensor at_places(const Backward& b, const Tensor& x) {
  const Attributes& a = b.attributes;
  Tensor part =
      call(index_view_op(), read(b, x),
           Attributes(a.dims(IndexPartAttributes::starts), a.dims(IndexPartAttributes::counts),
                      a.dims(IndexPartAttributes::steps), Axes{}));
  if (a.dims(IndexPartAttributes::axes).empty()) return part;
  std::vector<Operand> operands{read(b, part)};
  for (std::size_t i = 2; i < b.specs.size(); ++i) operands.push_back(b.input(i));
  return call(index_gather_op(), operands, Attributes(a.dims(IndexPartAttributes::axes)));
}

Tensor written_to_places(const Backward& b, const Operand& x, const Operand& values) {
  std::vector<Operand> operands{x, values};
  for (std::size_t i = 2; i < b.specs.size(); ++i) operands.push_back(b.input(i));
  return call(index_update_op(), operands, b.attributes);
}

}  // namespace

void index_update(Backward& b) {
  if (b.wants(1)) {
    Tensor arrived = at_places(b, b.gradients[0]);
    if (!b.attributes.dims(IndexPartAttributes::axes).empty()) {
      // A place that was written to more than once holds what came last.
      const Tensor numbers = numbered(b, arrived.shape());
      Tensor none = zeros(b.specs[0].shape, DType::int64, b.site);
      const Tensor written = written_to_places(b, b.at(std::move(none)), read(b, numbers));
      const Tensor is_last = equal(b.at(at_places(b, written)), read(b, numbers));
      arrived = where(read(b, is_last), b.at(std::move(arrived)), 0.0);
    }
    b.results[1] = to_input(b, 1, std::move(arrived));
  }
  if (b.wants(0)) {
    const Tensor zero = zeros({}, b.specs[0].dtype, b.site);
    b.results[0] = written_to_places(b, b.take_gradient(), read(b, zero));
  }
}

void index_add(Backward& b) {
  if (b.wants(1)) b.results[1] = to_input(b, 1, at_places(b, b.gradients[0]));
  if (b.wants(0)) b.results[0] = std::move(b.gradients[0]);
}

void sort(Backward& b) {
  if (b.specs[0].shape.empty()) {
    b.results[0] = std::move(b.gradients[0]);
    return;
  }
  const int axis = static_cast<int>(b.attributes.integer(SortAttributes::axis));
  const Tensor places = argsort(b.input(0), axis, b.attributes.flag(SortAttributes::descending));
  b.results[0] = tenure::scatter(b.at(zeros_of_input(b, 0)), axis, read(b, places),
                                 b.take_gradient(), ScatterMode::assign);
}

void topk(Backward& b) {
  if (!b.gradients[0].defined()) return;
  if (b.specs[0].shape.empty()) {
    b.results[0] = std::move(b.gradients[0]);
    return;
  }
  const int axis = static_cast<int>(b.attributes.integer(TopKAttributes::axis));
  b.results[0] = tenure::scatter(b.at(zeros_of_input(b, 0)), axis, b.output(1), b.take_gradient(),
                                 ScatterMode::assign);
}

}  // namespace tenure::ops::gradients
