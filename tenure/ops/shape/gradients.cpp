#include "tenure/ops/shape/gradients.h"

#include <algorithm>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/index/records.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/diagonal_place.h"
#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops::gradients {
namespace {

/// Zeros along an axis of size n, with `gradient` from `start` on.
Tensor placed(const Backward& b, Tensor gradient, int axis, std::int64_t start, std::int64_t n) {
  const std::int64_t size = gradient.shape()[axis];
  std::vector<std::pair<std::int64_t, std::int64_t>> widths(
      static_cast<std::size_t>(gradient.rank()));
  widths[static_cast<std::size_t>(axis)] = {start, n - start - size};
  return pad(b.at(std::move(gradient)), widths);
}

}  // namespace

void pass(Backward& b) {
  Tensor gradient = std::move(b.gradients[0]);
  if (gradient.dtype() != b.specs[0].dtype) {
    gradient = cast(b.at(std::move(gradient)), b.specs[0].dtype);
  }
  b.results[0] = std::move(gradient);
}

void reshape(Backward& b) { b.results[0] = reshape_to_input(b, 0, std::move(b.gradients[0])); }

void transpose(Backward& b) {
  b.results[0] = tenure::transpose(
      b.take_gradient(), static_cast<int>(b.attributes.integer(TransposeAttributes::axis_a)),
      static_cast<int>(b.attributes.integer(TransposeAttributes::axis_b)));
}

void permute(Backward& b) {
  const Axes& order = b.attributes.dims(PermuteAttributes::order);
  Axes back = order;
  for (int i = 0; i < order.size(); ++i) {
    back[normalize_axis(order[i], order.size(), "permute")] = i;
  }
  b.results[0] = tenure::permute(b.take_gradient(), back);
}

void broadcast(Backward& b) {
  if (b.wants(0)) b.results[0] = to_input(b, 0, std::move(b.gradients[0]));
}

void slice(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int axis =
      normalize_axis(b.attributes.integer(SliceAttributes::axis), shape.size(), "slice");
  const std::int64_t step = b.attributes.integer(SliceAttributes::step);
  const SliceRange range =
      slice_range(b.attributes.integer(SliceAttributes::start),
                  b.attributes.integer(SliceAttributes::stop), step, shape[axis], "slice");
  if (step == 1 || range.count <= 1) {
    const std::int64_t start = range.count == 0 ? 0 : range.start;
    b.results[0] = placed(b, std::move(b.gradients[0]), axis, start, shape[axis]);
    return;
  }
  Dims starts = Dims::filled(shape.size(), 0);
  Dims counts = shape;
  Dims steps = Dims::filled(shape.size(), 1);
  starts[axis] = range.start;
  counts[axis] = range.count;
  steps[axis] = step;
  b.results[0] = call(index_update_op(), {b.at(zeros_of_input(b, 0)), b.take_gradient()},
                      Attributes(starts, counts, steps, Axes{}));
}

void split(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int axis =
      normalize_axis(b.attributes.integer(SplitAttributes::axis), shape.size(), "split");
  b.results[0] = placed(b, std::move(b.gradients[0]), axis,
                        b.attributes.integer(SplitAttributes::start), shape[axis]);
}

void select(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int axis =
      normalize_axis(b.attributes.integer(SelectAttributes::axis), shape.size(), "select");
  const std::int64_t index = b.attributes.integer(SelectAttributes::index);
  b.results[0] = placed(b, expand_dims(b.take_gradient(), axis), axis,
                        index < 0 ? index + shape[axis] : index, shape[axis]);
}

void diagonal(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int rank = shape.size();
  const DiagonalPlace place(shape, b.attributes);
  // The diagonal as a column, repeated along the rows and hidden where there is no diagonal.
  Tensor column =
      placed(b, std::move(b.gradients[0]), rank - 2, place.first_row, shape[place.rows]);
  column = expand_dims(b.at(std::move(column)), -1);
  const Tensor is_diagonal =
      eye(shape[place.rows], shape[place.columns], place.k, DType::boolean, b.site);
  Tensor matrix = where(Operand(is_diagonal, b.site), b.at(std::move(column)), 0.0);
  Axes order;
  for (int i = 0, other = 0; i < rank; ++i) {
    order.push_back(i == place.rows ? rank - 2 : i == place.columns ? rank - 1 : other++);
  }
  b.results[0] = tenure::permute(b.at(std::move(matrix)), order);
}

void unfold(Backward& b) {
  const int axis = normalize_axis(b.attributes.integer(UnfoldAttributes::axis),
                                  b.specs[0].shape.size(), "unfold");
  const Tensor& gradient = b.gradients[0];
  Tensor windows = arange(gradient.dim(axis), DType::int64, b.site);
  windows = mul(b.at(std::move(windows)), b.attributes.integer(UnfoldAttributes::step));
  windows = expand_dims(b.at(std::move(windows)), 1);
  const Tensor within = arange(gradient.dim(-1), DType::int64, b.site);
  std::vector<Index> places(static_cast<std::size_t>(axis), tenure::All);
  places.emplace_back(add(b.at(std::move(windows)), Operand(within, b.site)));
  Tensor beside = tenure::moveaxis(b.take_gradient(), -1, axis + 1);
  b.results[0] = index_add(b.at(zeros_of_input(b, 0)), places, b.at(std::move(beside)));
}

void moveaxis(Backward& b) {
  b.results[0] = tenure::moveaxis(
      b.take_gradient(), static_cast<int>(b.attributes.integer(MoveAxisAttributes::destination)),
      static_cast<int>(b.attributes.integer(MoveAxisAttributes::source)));
}

void flip(Backward& b) {
  b.results[0] = tenure::flip(b.take_gradient(), AxisList(b.attributes.dims(FlipAttributes::axes)));
}

void concat(Backward& b) {
  const int axis =
      normalize_axis(b.attributes.integer(JoinAttributes::axis), b.specs[0].shape.size(), "concat");
  std::int64_t start = 0;
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    const std::int64_t size = b.specs[i].shape[axis];
    if (b.wants(i)) {
      Tensor piece = tenure::slice(b.gradient(), axis, start, start + size);
      if (piece.dtype() != b.specs[i].dtype) {
        piece = cast(b.at(std::move(piece)), b.specs[i].dtype);
      }
      b.results[i] = std::move(piece);
    }
    start += size;
  }
}

void stack(Backward& b) {
  const int axis = normalize_axis(b.attributes.integer(JoinAttributes::axis),
                                  b.specs[0].shape.size() + 1, "stack");
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    if (!b.wants(i)) continue;
    Tensor piece = tenure::select(b.gradient(), axis, static_cast<std::int64_t>(i));
    if (piece.dtype() != b.specs[i].dtype) piece = cast(b.at(std::move(piece)), b.specs[i].dtype);
    b.results[i] = std::move(piece);
  }
}

}  // namespace tenure::ops::gradients
