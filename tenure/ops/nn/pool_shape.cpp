#include "tenure/ops/nn/pool_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/nn/conv_shape.h"

namespace tenure::ops {
namespace {

void require_least(const char* op, const char* what, std::int64_t value, std::int64_t least) {
  constexpr std::int64_t kLimit = std::int64_t{1} << 30;
  if (value >= least && value <= kLimit) return;
  throw ValueError(fmt::format("{}: a {} of {} is not in [{}, 2^30]", op, what, value, least));
}

/// How far a window reaches along an axis. What ceil_mode adds at the end may be more than half of
/// it: windows there still have elements, see axis_of().
std::int64_t window_of(const char* op, int i, const PoolArguments& a) {
  const std::int64_t span = (a.kernel[i] - 1) * a.dilation[i] + 1;
  if (2 * a.low[i] <= span) return span;
  throw ValueError(
      fmt::format("{}: a padding of {} is more than half of a window of {}", op, a.low[i], span));
}

Pooling::Axis axis_of(const char* op, std::int64_t in, int i, const PoolArguments& a) {
  require_least(op, a.kernel[i] == 0 ? "size" : "stride", a.stride[i], 1);
  if (a.kernel[i] == 0) {
    if (in == 0) {
      throw ShapeError(op,
                       fmt::format("spatial axis {} is empty: its windows have no elements", i));
    }
    return {.in = in, .out = a.stride[i], .kernel = 0};
  }
  require_least(op, "kernel size", a.kernel[i], 1);
  require_least(op, "padding", a.low[i], 0);
  require_least(op, "padding", a.high[i], 0);
  require_least(op, "dilation", a.dilation[i], 1);
  const std::int64_t span = window_of(op, i, a);
  const std::int64_t padded = in + a.low[i] + a.high[i];
  if (padded < span) {
    throw ShapeError(op, fmt::format("along spatial axis {} a window spans {} positions, and the "
                                     "input has {} with its padding",
                                     i, span, padded));
  }
  const Pooling::Axis axis{.in = in,
                           .out = (padded - span) / a.stride[i] + 1,
                           .kernel = a.kernel[i],
                           .stride = a.stride[i],
                           .padding = a.low[i],
                           .dilation = a.dilation[i]};
  for (std::int64_t o = 0; o < axis.out; ++o) {
    if (axis.begin(o) < axis.end(o)) continue;
    throw ShapeError(op, fmt::format("along spatial axis {} window {} lies in the padding", i, o));
  }
  return axis;
}

}  // namespace

PoolArguments pool_arguments(const char* op, int axes, bool is_average, const SpatialSizes& kernel,
                             const PoolOptions& options) {
  const Dims sizes = kernel.of(axes, op, "kernel", 1);
  const Dims padding = options.padding.of(axes, op, "padding", 0);
  const Dims dilation = options.dilation.of(axes, op, "dilation", 1);
  const PoolArguments a{
      .kernel = sizes,
      .stride = options.stride ? options.stride->of(axes, op, "stride", 1) : sizes,
      .low = padding,
      .high = padding,
      .dilation = is_average ? Dims::filled(axes, 1) : dilation};
  for (int i = 0; i < axes; ++i) static_cast<void>(window_of(op, i, a));
  return a;
}

PoolArguments pool_arguments(const char* op, int axes, const SpatialSizes& sizes) {
  const Dims zeros = Dims::filled(axes, 0);
  return {.kernel = zeros,
          .stride = sizes.of(axes, op, "size", 1),
          .low = zeros,
          .high = zeros,
          .dilation = Dims::filled(axes, 1)};
}

Pooling pooling_of(const char* op, const Shape& x, const PoolArguments& a) {
  const int axes = x.size() - 2;
  if (axes < 1 || axes > 3) {
    throw ShapeError(op,
                     fmt::format("images are [batch, one to three spatial axes, channels], not {}",
                                 to_string(x)),
                     {x.to_vector()});
  }
  for (const Dims* sizes : {&a.kernel, &a.stride, &a.low, &a.high, &a.dilation}) {
    if (sizes->size() == axes) continue;
    throw ShapeError(op, fmt::format("windows along {} axes do not go with images of {}",
                                     sizes->size(), to_string(x)));
  }
  Pooling p{.batch = x[0], .channels = x.back()};
  for (int i = 0; i < axes; ++i) {
    p.axes[static_cast<std::size_t>(3 - axes + i)] = axis_of(op, x[1 + i], i, a);
  }
  return p;
}

Pooling max_pooling(const char* op, const Shape& x, const Attributes& a) {
  return pooling_of(op, x, PoolArguments::of(a));
}
Pooling max_pooling_of_windows(const char* op, const Shape& dy, const Attributes& a) {
  return pooling_of(op, image_of_windows(op, dy, a), PoolArguments::of(a));
}
Pooling average_pooling(const char* op, const Shape& x, const Attributes& a) {
  return pooling_of(op, x, PoolArguments::undilated(a));
}
Pooling average_pooling_of_windows(const char* op, const Shape& dy, const Attributes& a) {
  return pooling_of(op, image_of_windows(op, dy, a), PoolArguments::undilated(a));
}

Shape image_of_windows(const char* op, const Shape& dy, const Attributes& a) {
  const Dims& spatial = a.dims(PoolArguments::kSpatial);
  if (dy.size() != spatial.size() + 2) {
    throw ShapeError(op, fmt::format("windows of {} do not go with images of {} spatial axes",
                                     to_string(dy), spatial.size()));
  }
  return with_spatial(dy, spatial, dy.back());
}

Shape pooled_shape(const Pooling& p, int axes) {
  Shape shape{p.batch};
  for (int i = 0; i < axes; ++i) {
    shape.push_back(p.axes[static_cast<std::size_t>(3 - axes + i)].out);
  }
  shape.push_back(p.channels);
  return shape;
}

DType place_type(const PoolArguments& arguments) {
  constexpr std::int64_t kNarrow = 256;
  std::int64_t places = 1;
  for (const std::int64_t size : arguments.kernel) {
    if (size == 0 || size > kNarrow) return DType::int32;
    places *= size;
  }
  return places <= kNarrow ? DType::uint8 : DType::int32;
}

}  // namespace tenure::ops
