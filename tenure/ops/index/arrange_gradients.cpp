#include <algorithm>

#include "tenure/ops/creation.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/gradients.h"
#include "tenure/ops/index_ops.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops::gradients {
namespace {

/// The gradient with axis `axis` split into [a, b] and summed over one of the two, counted from 0.
Tensor sum_of_parts(const Backward& b, Tensor gradient, int axis, std::int64_t first,
                    std::int64_t second, int summed) {
  const Shape shape = gradient.shape();
  std::int64_t before = 1;
  std::int64_t behind = 1;
  for (int i = 0; i < axis; ++i) before *= shape[i];
  for (int i = axis + 1; i < shape.size(); ++i) behind *= shape[i];
  gradient = reshape(b.at(std::move(gradient)), {before, first, second, behind});
  gradient = sum(b.at(std::move(gradient)), 1 + summed);
  Shape result = shape;
  result[axis] = summed == 0 ? second : first;
  return reshape(b.at(std::move(gradient)), result);
}

/// The element of an axis of size n that stands at i of a padded one, counted from its beginning.
std::int64_t mirrored(std::int64_t i, std::int64_t n, PadMode mode) {
  const auto wrapped = [](std::int64_t at, std::int64_t period) {
    return (at % period + period) % period;
  };
  switch (mode) {
    case PadMode::edge:
      return std::clamp<std::int64_t>(i, 0, n - 1);
    case PadMode::wrap:
      return wrapped(i, n);
    case PadMode::symmetric:
      i = wrapped(i, 2 * n);
      return std::min(i, 2 * n - 1 - i);
    default:
      if (n == 1) return 0;
      i = wrapped(i, 2 * n - 2);
      return std::min(i, 2 * n - 2 - i);
  }
}

}  // namespace

void pad(Backward& b) {
  const Dims& before = b.attributes.dims(PadAttributes::before);
  const Dims& after = b.attributes.dims(PadAttributes::after);
  const auto mode = static_cast<PadMode>(b.attributes.integer(PadAttributes::mode));
  if (mode == PadMode::constant) {
    std::vector<std::pair<std::int64_t, std::int64_t>> widths;
    for (int i = 0; i < before.size(); ++i) widths.emplace_back(-before[i], -after[i]);
    b.results[0] = tenure::pad(b.take_gradient(), widths);
    return;
  }
  const Shape& shape = b.specs[0].shape;
  if (count(shape) == 0) {  // nor has the result elements
    b.results[0] = zeros_of_input(b, 0);
    return;
  }
  Tensor gradient = std::move(b.gradients[0]);
  for (int axis = 0; axis < shape.size(); ++axis) {
    if (before[axis] == 0 && after[axis] == 0) continue;
    std::vector<std::int64_t> sources;
    for (std::int64_t i = 0; i < gradient.shape()[axis]; ++i) {
      sources.push_back(mirrored(i - before[axis], shape[axis], mode));
    }
    Shape narrow = gradient.shape();
    narrow[axis] = shape[axis];
    std::vector<Index> places(static_cast<std::size_t>(axis), All);
    places.emplace_back(tensor(sources, {-1}, b.site));
    Tensor sums = zeros(narrow, gradient.dtype(), b.site);
    gradient = index_add(b.at(std::move(sums)), places, b.at(std::move(gradient)));
  }
  b.results[0] = std::move(gradient);
}

void tile(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const Dims& times = b.attributes.dims(TileAttributes::times);
  Tensor gradient = std::move(b.gradients[0]);
  const int rank = gradient.rank();
  for (int axis = 0; axis < rank; ++axis) {
    const int time = axis - (rank - times.size());
    const std::int64_t n = time < 0 ? 1 : times[time];
    const int own = axis - (rank - shape.size());
    if (n != 1) {
      gradient = sum_of_parts(b, std::move(gradient), axis, n, own < 0 ? 1 : shape[own], 0);
    }
  }
  b.results[0] = reshape_to_input(b, 0, std::move(gradient));
}

void repeat(Backward& b) {
  const Shape& shape = b.specs[0].shape;
  const int axis =
      normalize_axis(b.attributes.integer(RepeatAttributes::axis), shape.size(), "repeat");
  b.results[0] = sum_of_parts(b, std::move(b.gradients[0]), axis, shape[axis],
                              b.attributes.integer(RepeatAttributes::times), 1);
}

void roll(Backward& b) {
  Dims back = b.attributes.dims(RollAttributes::shifts);
  for (std::int64_t& shift : back) shift = -shift;
  b.results[0] = tenure::roll(b.take_gradient(), back, b.attributes.dims(RollAttributes::axes));
}

void tril(Backward& b) {
  b.results[0] =
      tenure::tril(b.take_gradient(), b.attributes.integer(TriangleAttributes::diagonal));
}
void triu(Backward& b) {
  b.results[0] =
      tenure::triu(b.take_gradient(), b.attributes.integer(TriangleAttributes::diagonal));
}

}  // namespace tenure::ops::gradients
