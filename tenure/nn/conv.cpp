#include "tenure/nn/conv.h"

#include <fmt/format.h>

#include <array>

#include "tenure/base/error.h"
#include "tenure/nn/sizes.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

constexpr std::array kKinds{"Conv1d", "Conv2d", "Conv3d"};

const char* kind_of(int axes) { return kKinds.at(static_cast<std::size_t>(axes - 1)); }

Tensor make_kernel(int axes, std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
                   const ConvLayerOptions& options, Site site) {
  require_positive(kind_of(axes), {inputs, outputs, options.groups});
  if (inputs % options.groups != 0 || outputs % options.groups != 0) {
    throw ValueError(fmt::format("{}: {} and {} channels cannot be shared by {} groups",
                                 kind_of(axes), inputs, outputs, options.groups));
  }
  const Dims sizes = kernel.of(axes, kind_of(axes), "kernel");
  std::int64_t places = 1;
  for (const std::int64_t size : sizes) places *= size;
  const Fans fans{places * inputs / options.groups, places * outputs / options.groups};
  Shape shape = sizes;
  if (options.channels == Channels::last) {
    shape.push_back(inputs / options.groups);
    shape.push_back(outputs);
  } else {
    shape.insert(0, inputs / options.groups);
    shape.insert(0, outputs);
  }
  return options.kernel_initializer(shape, fans, options.dtype, site);
}

}  // namespace

Conv::Conv(int axes, std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
           const ConvLayerOptions& options, Site site)
    : Layer(kind_of(axes), site),
      axes_(axes),
      options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .channels = options.channels,
               .relu = options.relu},
      kernel_(add_parameter(
          "kernel", [&] { return make_kernel(axes, inputs, outputs, kernel, options, site); },
          site)) {
  if (!options.bias) return;
  bias_ = add_parameter(
      "bias",
      [&] {
        return options.bias_initializer({outputs}, {inputs, outputs}, options.dtype, site);
      },
      site);
}

std::string Conv::describe() const {
  const bool is_last = options_.channels == Channels::last;
  const Shape& shape = kernel_.shape();
  std::string sizes;
  for (int i = 0; i < axes_; ++i) {
    sizes += fmt::format("{}{}", i == 0 ? "" : "x", shape[is_last ? i : i + 2]);
  }
  const std::int64_t inputs = shape[is_last ? axes_ : 1] * options_.groups;
  return fmt::format("{}, {} -> {}", sizes, inputs, shape[is_last ? axes_ + 1 : 0]);
}

Tensor Conv::forward(Tensor x) const {
  using WithBias = Tensor (*)(const Operand&, const Operand&, const Operand&, const ConvOptions&);
  using Plain = Tensor (*)(const Operand&, const Operand&, const ConvOptions&);
  constexpr std::array<WithBias, 3> with_bias{conv1d, conv2d, conv3d};
  constexpr std::array<Plain, 3> plain{conv1d, conv2d, conv3d};
  const auto i = static_cast<std::size_t>(axes_ - 1);
  const Site site = call_site();
  const Operand input(std::move(x), site);
  if (!bias_) return plain[i](input, {read(kernel_), site}, options_);
  return with_bias[i](input, {read(kernel_), site}, {read(*bias_), site}, options_);
}

Lambda MaxPool2d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  const auto pool = [=](Tensor x, Site at) {
    return max_pool2d({std::move(x), at}, kernel, options);
  };
  return {"MaxPool2d", pool, site};
}
Lambda AvgPool2d(const SpatialSizes& kernel, const PoolOptions& options, Site site) {
  const auto pool = [=](Tensor x, Site at) {
    return avg_pool2d({std::move(x), at}, kernel, options);
  };
  return {"AvgPool2d", pool, site};
}
Lambda GlobalAvgPool2d(Channels channels, Site site) {
  const auto pool = [channels](Tensor x, Site at) {
    return flatten({adaptive_avg_pool2d({std::move(x), at}, 1, channels), at}, 1);
  };
  return {"GlobalAvgPool2d", pool, site};
}

}  // namespace tenure::nn
