#include "tenure/nn/conv.h"

#include <fmt/format.h>

#include <array>

#include "tenure/base/error.h"
#include "tenure/nn/sizes.h"
#include "tenure/ops/elementwise.h"
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

namespace {

constexpr std::array kTransposedKinds{"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"};

const char* transposed_kind_of(int axes) {
  return kTransposedKinds.at(static_cast<std::size_t>(axes - 1));
}

/// The kernel of the convolution that it is the transpose of: from outputs to inputs.
Tensor make_transposed_kernel(int axes, std::int64_t inputs, std::int64_t outputs,
                              const SpatialSizes& kernel, const ConvTransposeLayerOptions& options,
                              Site site) {
  const char* const kind = transposed_kind_of(axes);
  require_positive(kind, {inputs, outputs, options.groups});
  if (inputs % options.groups != 0 || outputs % options.groups != 0) {
    throw ValueError(fmt::format("{}: {} and {} channels cannot be shared by {} groups", kind,
                                 inputs, outputs, options.groups));
  }
  Shape shape = kernel.of(axes, kind, "kernel");
  std::int64_t places = 1;
  for (const std::int64_t size : shape) places *= size;
  const Fans fans{places * inputs / options.groups, places * outputs / options.groups};
  if (options.channels == Channels::last) {
    shape.push_back(outputs / options.groups);
    shape.push_back(inputs);
  } else {
    shape.insert(0, outputs / options.groups);
    shape.insert(0, inputs);
  }
  return options.kernel_initializer(shape, fans, options.dtype, site);
}

}  // namespace

ConvTranspose::ConvTranspose(int axes, std::int64_t inputs, std::int64_t outputs,
                             const SpatialSizes& kernel, const ConvTransposeLayerOptions& options,
                             Site site)
    : Layer(transposed_kind_of(axes), site),
      axes_(axes),
      options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .channels = options.channels},
      kernel_(add_parameter(
          "kernel",
          [&] { return make_transposed_kernel(axes, inputs, outputs, kernel, options, site); },
          site)) {
  if (!options.bias) return;
  const auto initial = [&] {
    return options.bias_initializer({outputs}, {inputs, outputs}, options.dtype, site);
  };
  bias_ = add_parameter("bias", initial, site);
}

std::string ConvTranspose::describe() const {
  const bool is_last = options_.channels == Channels::last;
  const Shape& shape = kernel_.shape();
  std::string sizes;
  for (int i = 0; i < axes_; ++i) {
    sizes += fmt::format("{}{}", i == 0 ? "" : "x", shape[is_last ? i : i + 2]);
  }
  const std::int64_t outputs = shape[is_last ? axes_ : 1] * options_.groups;
  return fmt::format("{}, {} -> {}", sizes, shape[is_last ? axes_ + 1 : 0], outputs);
}

Tensor ConvTranspose::forward(Tensor x) const {
  using Transpose = Tensor (*)(const Operand&, const Operand&, const ConvTransposeOptions&);
  constexpr std::array<Transpose, 3> ops{conv_transpose1d, conv_transpose2d, conv_transpose3d};
  const Site site = call_site();
  Tensor y = ops[static_cast<std::size_t>(axes_ - 1)]({std::move(x), site}, {read(kernel_), site},
                                                      options_);
  if (!bias_) return y;
  Tensor bias = read(*bias_);
  if (options_.channels == Channels::first) {
    Shape shape = Dims::filled(axes_ + 1, 1);
    shape[0] = bias.shape()[0];
    bias = reshape({std::move(bias), site}, shape);
  }
  return tenure::add({std::move(y), site}, {std::move(bias), site});
}

}  // namespace tenure::nn
