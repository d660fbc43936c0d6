#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/shape/attributes.h"
#include "tenure/ops/shape/diagonal_place.h"
#include "tenure/ops/shape/gradients.h"
#include "tenure/ops/shape/slice_range.h"
#include "tenure/ops/shape/view_op.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

struct Slice : ViewOp<Slice> {
  static constexpr auto name = "slice";
  static constexpr GradientRule gradient = reads_nothing(gradients::slice);
  static constexpr auto signature = "slice(x, axis, start, stop = end, step = 1)";
  static constexpr auto doc = "elements start, start + step, ... before stop along an axis";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const int axis =
        normalize_axis(k.attributes.integer(SliceAttributes::axis), spec.shape.size(), name);
    const std::int64_t step = k.attributes.integer(SliceAttributes::step);
    const SliceRange range =
        slice_range(k.attributes.integer(SliceAttributes::start),
                    k.attributes.integer(SliceAttributes::stop), step, spec.shape[axis], k.op);
    if (range.count > 0) spec.offset = range.start * spec.strides[axis];
    spec.shape[axis] = range.count;
    // With one element or none the step is never taken, however large.
    if (range.count > 1) spec.strides[axis] *= step;
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(SliceAttributes::axis), x.shape.size(), name);
    const std::int64_t n = x.shape[axis];
    const std::int64_t step = k.attributes.integer(SliceAttributes::step);
    std::vector<std::int64_t> positions;
    std::int64_t start = k.attributes.integer(SliceAttributes::start);
    std::int64_t stop = k.attributes.integer(SliceAttributes::stop);
    start = start == kAbsent ? (step > 0 ? 0 : n - 1) : start < 0 ? start + n : start;
    if (stop != kAbsent && stop < 0) stop += n;
    for (std::int64_t i = start; step > 0 ? i < n : i >= 0; i += step) {
      if (stop != kAbsent && (step > 0 ? i >= stop : i <= stop)) break;
      if (i >= 0 && i < n) positions.push_back(i);
    }
    Shape shape = x.shape;
    shape[axis] = static_cast<std::int64_t>(positions.size());
    return make_reference(shape, [&](Dims index) {
      index[axis] = positions[static_cast<std::size_t>(index[axis])];
      return at(x, index);
    });
  }
  static Sample sample(const Shape& shape, std::int64_t axis, std::int64_t start, std::int64_t stop,
                       std::int64_t step) {
    return {.inputs = {{.shape = shape}}, .attributes = Attributes(axis, start, stop, step)};
  }
  static std::vector<Sample> samples() {
    return {sample({7, 3}, 0, 1, 6, 2), sample({7, 3}, 0, kAbsent, kAbsent, -1),
            sample({7}, 0, -3, kAbsent, 1), sample({7}, 0, 5, 1, -2), sample({4}, 0, 3, 1, 1)};
  }
};

struct Diagonal : ViewOp<Diagonal> {
  static constexpr auto name = "diagonal";
  static constexpr GradientRule gradient = reads_nothing(gradients::diagonal);
  static constexpr auto signature = "diagonal(x, a = -2, b = -1, k = 0)";
  static constexpr auto doc =
      "elements whose index along axis b is that along axis a and k more, along a new last axis";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const DiagonalPlace place(spec.shape, k.attributes);
    const std::int64_t stride = spec.strides[place.rows] + spec.strides[place.columns];
    if (place.size > 0) {
      spec.offset = place.first_row * spec.strides[place.rows] +
                    place.first_column * spec.strides[place.columns];
    }
    for (const int axis : {place.columns, place.rows}) {
      spec.shape.erase(axis);
      spec.strides.erase(axis);
    }
    spec.shape.push_back(place.size);
    spec.strides.push_back(stride);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int rank = x.shape.size();
    const int a = normalize_axis(k.attributes.integer(DiagonalAttributes::axis_a), rank, name);
    const int b = normalize_axis(k.attributes.integer(DiagonalAttributes::axis_b), rank, name);
    const std::int64_t more = k.attributes.integer(DiagonalAttributes::k);
    const Shape shape = view(k)->shape;
    return make_reference(shape, [&](Dims index) {
      const std::int64_t i = index.back();
      const std::int64_t at_a = i + std::max<std::int64_t>(-more, 0);
      index.erase(index.size() - 1);
      index.insert(std::min(a, b), a < b ? at_a : at_a + more);
      index.insert(std::max(a, b), a < b ? at_a + more : at_a);
      return at(x, index);
    });
  }
  static Sample sample(const Shape& shape, std::int64_t a, std::int64_t b, std::int64_t k) {
    return {.inputs = {{.shape = shape}}, .attributes = Attributes(a, b, k)};
  }
  static std::vector<Sample> samples() {
    return {sample({3, 4}, 0, 1, 0),    sample({4, 2, 3}, -1, 0, 0), sample({3, 5}, 0, 1, 2),
            sample({4, 2, 3}, 2, 0, 1), sample({3, 4}, 0, 1, -2),    sample({2, 3}, 0, 1, 9)};
  }
};

struct Unfold : ViewOp<Unfold> {
  static constexpr auto name = "unfold";
  static constexpr GradientRule gradient = reads_nothing(gradients::unfold);
  static constexpr auto signature = "unfold(x, axis, size, step = 1)";
  static constexpr auto doc = "windows of so many elements along an axis, as a new last axis";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    const int axis =
        normalize_axis(k.attributes.integer(UnfoldAttributes::axis), spec.shape.size(), name);
    const std::int64_t size = k.attributes.integer(UnfoldAttributes::size);
    const std::int64_t step = k.attributes.integer(UnfoldAttributes::step);
    if (size < 1 || step < 1) {
      throw ValueError(
          fmt::format("unfold: windows of {} elements, one every {}; both must be at "
                      "least 1",
                      size, step));
    }
    const std::int64_t n = spec.shape[axis];
    if (size > n) {
      throw ShapeError(name,
                       fmt::format("axis {} of shape {} has no window of {} elements", axis,
                                   to_string(spec.shape), size),
                       {spec.shape.to_vector()});
    }
    const std::int64_t stride = spec.strides[axis];
    spec.shape[axis] = (n - size) / step + 1;
    // With one window the step is never taken, however large.
    if (spec.shape[axis] > 1) spec.strides[axis] *= step;
    spec.shape.push_back(size);
    spec.strides.push_back(stride);
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const int axis =
        normalize_axis(k.attributes.integer(UnfoldAttributes::axis), x.shape.size(), name);
    return make_reference(view(k)->shape, [&](Dims index) {
      const std::int64_t within = index.back();
      index.erase(index.size() - 1);
      index[axis] = index[axis] * k.attributes.integer(UnfoldAttributes::step) + within;
      return at(x, index);
    });
  }
  static std::vector<Sample> samples() {
    const auto sample = [](const Shape& shape, std::int64_t axis, std::int64_t size,
                           std::int64_t step) {
      return Sample{.inputs = {{.shape = shape}}, .attributes = Attributes(axis, size, step)};
    };
    return {sample({7}, 0, 3, 2), sample({2, 6, 3}, 1, 2, 1), sample({4, 5}, -1, 5, 9),
            sample({0, 3}, 1, 2, 1)};
  }
};

struct Flip : ViewOp<Flip> {
  static constexpr auto name = "flip";
  static constexpr GradientRule gradient = reads_nothing(gradients::flip);
  static constexpr auto signature = "flip(x, axes = all)";
  static constexpr auto doc = "reversed along axes";
  static std::optional<ViewSpec> view(const Kernel& k) {
    ViewSpec spec{.shape = k.in[0].shape, .strides = k.in[0].strides};
    for (const std::int64_t a :
         normalize_axes(k.attributes.dims(FlipAttributes::axes), spec.shape.size(), name)) {
      const int axis = static_cast<int>(a);
      if (spec.shape[axis] > 0) spec.offset += (spec.shape[axis] - 1) * spec.strides[axis];
      spec.strides[axis] = -spec.strides[axis];
    }
    return spec;
  }
  static Reference expected(const Reference& x, const Kernel& k) {
    const Axes axes = normalize_axes(k.attributes.dims(FlipAttributes::axes), x.shape.size(), name);
    return make_reference(x.shape, [&](Dims index) {
      for (const std::int64_t a : axes) {
        const int axis = static_cast<int>(a);
        index[axis] = x.shape[axis] - 1 - index[axis];
      }
      return at(x, index);
    });
  }
  static std::vector<Sample> samples() {
    return {{.inputs = {{.shape = {3, 4}}}, .attributes = Attributes(Dims{})},
            {.inputs = {{.shape = {3, 4}}}, .attributes = Attributes(Dims{1})},
            {.inputs = {{.shape = {0, 4}}}, .attributes = Attributes(Dims{0})}};
  }
};

}  // namespace

std::vector<const OpRecord*> slice_ops() {
  return {&record<Slice>(), &record<Diagonal>(), &record<Unfold>(), &record<Flip>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call;
using ops::record;

Tensor slice(const Operand& x, int axis, std::optional<std::int64_t> start,
             std::optional<std::int64_t> stop, std::int64_t step) {
  return call(
      record<ops::Slice>(), {x},
      Attributes(std::int64_t{axis}, ops::slice_position(start), ops::slice_position(stop), step));
}
Tensor diagonal(const Operand& x, int a, int b, std::int64_t k) {
  return call(record<ops::Diagonal>(), x, Attributes(std::int64_t{a}, std::int64_t{b}, k));
}
Tensor unfold(const Operand& x, int axis, std::int64_t size, std::int64_t step) {
  return call(record<ops::Unfold>(), x, Attributes(std::int64_t{axis}, size, step));
}
Tensor flip(const Operand& x, const AxisList& axes) {
  return call(record<ops::Flip>(), x, Attributes(axes.get()));
}

}  // namespace tenure
