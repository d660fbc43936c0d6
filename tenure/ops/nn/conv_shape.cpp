#include "tenure/ops/nn/conv_shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenure::ops {
namespace {

void require_positive(const char* op, const char* what, const Dims& sizes, std::int64_t least) {
  if (std::all_of(sizes.begin(), sizes.end(), [&](auto size) { return size >= least; })) return;
  throw ValueError(
      fmt::format("{}: a {} is at least {}, not {}", op, what, least, to_string(sizes)));
}

/// Spatial axes are the last of three.
std::size_t place(int axis, int axes) { return static_cast<std::size_t>(3 - axes + axis); }

}  // namespace

ConvArguments conv_arguments(const char* op, int axes, const ConvOptions& options) {
  ConvArguments a{.stride = options.stride.of(axes, op, "stride", 1),
                  .low = {},
                  .high = {},
                  .dilation = options.dilation.of(axes, op, "dilation", 1),
                  .groups = options.groups};
  if (!options.padding.is_same()) {
    a.low = a.high = options.padding.sizes().of(axes, op, "padding", 0);
  }
  return a;
}

ConvArguments conv_arguments(const char* op, int axes, const ConvTransposeOptions& options) {
  const Dims padding = options.padding.of(axes, op, "padding", 0);
  ConvArguments a{.stride = options.stride.of(axes, op, "stride", 1),
                  .low = padding,
                  .high = padding,
                  .dilation = options.dilation.of(axes, op, "dilation", 1),
                  .groups = options.groups};
  const Dims extra = options.output_padding.of(axes, op, "output padding", 0);
  for (int i = 0; i < axes; ++i) {
    if (extra[i] < std::max(a.stride[i], a.dilation[i])) continue;
    throw ValueError(fmt::format("{}: an output padding of {} is not below the stride {}", op,
                                 extra[i], a.stride[i]));
  }
  return a;
}

Convolution convolution_of(const char* op, const Shape& x, const Shape& weights,
                           const ConvArguments& a) {
  const ShapeError::Shapes shapes{x.to_vector(), weights.to_vector()};
  const int axes = x.size() - 2;
  if (axes < 1 || axes > 3) {
    throw ShapeError(op,
                     fmt::format("images are [batch, one to three spatial axes, channels], not {}",
                                 to_string(x)),
                     shapes);
  }
  if (weights.size() != x.size()) {
    throw ShapeError(op,
                     fmt::format("images {} take weights [{} kernel sizes, channels, outputs], not "
                                 "{}",
                                 to_string(x), axes, to_string(weights)),
                     shapes);
  }
  require_positive(op, "stride", a.stride, 1);
  require_positive(op, "dilation", a.dilation, 1);
  require_positive(op, "padding", a.low, 0);
  require_positive(op, "padding", a.high, 0);

  Convolution c{
      .batch = x[0], .in_channels = x.back(), .out_channels = weights.back(), .groups = a.groups};
  if (a.groups < 1 || c.in_channels % a.groups != 0 || c.out_channels % a.groups != 0) {
    throw ShapeError(op,
                     fmt::format("{} groups do not divide {} input and {} output channels",
                                 a.groups, c.in_channels, c.out_channels),
                     shapes);
  }
  if (weights[weights.size() - 2] != c.in_channels / a.groups) {
    throw ShapeError(
        op,
        fmt::format("weights {} are for {} channels in each of {} groups; images {} have {}",
                    to_string(weights), weights[weights.size() - 2], a.groups, to_string(x),
                    c.in_channels / a.groups),
        shapes);
  }
  for (int i = 0; i < axes; ++i) {
    const std::int64_t in = x[1 + i];
    const std::int64_t kernel = weights[i];
    constexpr std::int64_t kLimit = std::int64_t{1} << 40;  // nothing below overflows
    if (std::max({in, kernel, a.stride[i], a.low[i], a.high[i], a.dilation[i]}) > kLimit ||
        kernel * a.dilation[i] > kLimit) {
      throw ShapeError(op, "a size is beyond 2^40", shapes);
    }
    if (kernel < 1) throw ShapeError(op, "a kernel has no elements", shapes);
    const std::int64_t span = (kernel - 1) * a.dilation[i] + 1;
    const std::int64_t padded = in + a.low[i] + a.high[i];
    if (padded < span) {
      throw ShapeError(op,
                       fmt::format("along spatial axis {} the kernel spans {} positions, and the "
                                   "input has {} with its padding",
                                   i, span, padded),
                       shapes);
    }
    c.axes[place(i, axes)] = {.in = in,
                              .out = (padded - span) / a.stride[i] + 1,
                              .kernel = kernel,
                              .stride = a.stride[i],
                              .padding = a.low[i],
                              .dilation = a.dilation[i]};
  }
  return c;
}

Convolution convolution_of_input_gradient(const char* op, const Shape& dy, const Shape& weights,
                                          const Attributes& a) {
  const ConvArguments arguments = ConvArguments::of(a);
  if (dy.size() < 3 || dy.size() != weights.size()) {
    throw ShapeError(op,
                     fmt::format("images {} and weights {} differ in their spatial axes",
                                 to_string(dy), to_string(weights)),
                     {dy.to_vector(), weights.to_vector()});
  }
  const Shape x = with_spatial(dy, a.dims(ConvArguments::kSizes),
                               weights[weights.size() - 2] * arguments.groups);
  const Convolution c = convolution_of(op, x, weights, arguments);
  if (output_shape(c, dy.size() - 2) != dy) {
    throw ShapeError(
        op,
        fmt::format("images {} are not what weights {} make of {}, which are {}", to_string(dy),
                    to_string(weights), to_string(x), to_string(output_shape(c, dy.size() - 2))),
        {dy.to_vector(), weights.to_vector()});
  }
  return c;
}

Convolution convolution_of_weight_gradient(const char* op, const Shape& x, const Shape& dy,
                                           const Attributes& a) {
  const ConvArguments arguments = ConvArguments::of(a);
  Shape weights = a.dims(ConvArguments::kSizes);
  weights.push_back(arguments.groups < 1 || x.empty() ? 0 : x.back() / arguments.groups);
  weights.push_back(dy.empty() ? 0 : dy.back());
  const Convolution c = convolution_of(op, x, weights, arguments);
  if (output_shape(c, x.size() - 2) != dy) {
    throw ShapeError(op,
                     fmt::format("gradients {} are not of what weights {} make of {}",
                                 to_string(dy), to_string(weights), to_string(x)),
                     {x.to_vector(), dy.to_vector()});
  }
  return c;
}

Shape image_shape(const Convolution& c, int axes) {
  Shape shape{c.batch};
  for (int i = 0; i < axes; ++i) shape.push_back(c.axes[place(i, axes)].in);
  shape.push_back(c.in_channels);
  return shape;
}

Shape output_shape(const Convolution& c, int axes) {
  Shape shape{c.batch};
  for (int i = 0; i < axes; ++i) shape.push_back(c.axes[place(i, axes)].out);
  shape.push_back(c.out_channels);
  return shape;
}

Shape weight_shape(const Convolution& c, int axes) {
  Shape shape;
  for (int i = 0; i < axes; ++i) shape.push_back(c.axes[place(i, axes)].kernel);
  shape.push_back(c.in_channels / c.groups);
  shape.push_back(c.out_channels);
  return shape;
}

Shape with_spatial(const Shape& image, const Dims& spatial, std::int64_t channels) {
  Shape shape{image[0]};
  for (const std::int64_t size : spatial) shape.push_back(size);
  shape.push_back(channels);
  return shape;
}

Dims spatial_of(const Shape& image) {
  Dims spatial;
  for (int i = 1; i + 1 < image.size(); ++i) spatial.push_back(image[i]);
  return spatial;
}

}  // namespace tenure::ops
