#include "tenure/ops/index/places.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/operands.h"
#include "tenure/ops/index/plan.h"

namespace tenure::ops {
namespace {

/// Throws IndexError unless start, start + step, ... are on an axis of n elements.
void require_within(std::int64_t start, std::int64_t count, std::int64_t step, std::int64_t n,
                    int axis) {
  if (count == 0) return;
  const std::int64_t last = count == kDropped ? start : start + (count - 1) * step;
  for (const std::int64_t place : {start, last}) {
    if (place >= 0 && place < n) continue;
    throw IndexError("index", fmt::format("index {} is outside axis {} of size {}", place, axis, n),
                     place, n);
  }
}

}  // namespace

ViewSpec region(const Shape& shape, const Strides& strides, const Attributes& a) {
  for (int i = 0; i < 3; ++i) {
    if (a.dims(i).size() == shape.size()) continue;
    throw ShapeError("index", fmt::format("places on {} axes do not go with a tensor of {}",
                                          a.dims(i).size(), to_string(shape)));
  }
  ViewSpec spec;
  for (int i = 0; i < shape.size(); ++i) {
    require_within(a.dims(IndexPartAttributes::starts)[i], a.dims(IndexPartAttributes::counts)[i],
                   a.dims(IndexPartAttributes::steps)[i], shape[i], i);
    spec.offset += a.dims(IndexPartAttributes::starts)[i] * strides[i];
    if (a.dims(IndexPartAttributes::counts)[i] == kDropped) continue;
    spec.shape.push_back(a.dims(IndexPartAttributes::counts)[i]);
    spec.strides.push_back(a.dims(IndexPartAttributes::steps)[i] * strides[i]);
  }
  return spec;
}

View axes_first(const View& x, const Axes& axes) {
  View result = x;
  result.shape = {};
  result.strides = {};
  const auto add = [&](int axis) {
    result.shape.push_back(x.shape[axis]);
    result.strides.push_back(x.strides[axis]);
  };
  for (const std::int64_t axis : axes) add(normalize_axis(axis, x.shape.size(), "index"));
  for (int i = 0; i < x.shape.size(); ++i) {
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) add(i);
  }
  return result;
}

View part_of(const View& x, const Attributes& a) {
  const ViewSpec spec = region(x.shape, x.strides, a);
  View part{.dtype = x.dtype, .shape = spec.shape, .strides = spec.strides, .data = x.data};
  if (part.count() > 0) {
    part.data = x.as<std::byte>() + spec.offset * static_cast<std::int64_t>(size_of(x.dtype));
  }
  return axes_first(part, a.dims(IndexPartAttributes::axes));
}

IndexViews::IndexViews(std::span<const View> indices, const char* op) : size_(indices.size()) {
  for (const View& view : indices) {
    check_index_type(view, op);
    shape_ = broadcast(shape_, view.shape, op);
  }
  for (std::size_t i = 0; i < size_; ++i) {
    views_[i] = indices[i];
    views_[i].strides = broadcast_strides(indices[i].shape, indices[i].strides, shape_);
    views_[i].shape = shape_;
  }
}

}  // namespace tenure::ops
