#include "tenure/nn/conv.h"

#include <fmt/format.h>

#include <array>

#include "tenure/base/error.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/initial.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/conv_shape.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

constexpr std::array kKinds{"Conv1d", "Conv2d", "Conv3d"};
constexpr std::array kTransposedKinds{"ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"};

const char* kind_of(const std::array<const char*, 3>& kinds, int axes, Site site) {
  return mem::in_call("Conv", site, [&] {
    if (axes >= 1 && axes <= 3) return kinds[static_cast<std::size_t>(axes - 1)];
    throw ValueError(fmt::format("Conv: axes is {}; it is 1, 2 or 3", axes));
  });
}

/// Channels of a convolution's kernel: of all that go in, each group sees its share alone.
struct KernelChannels {
  std::int64_t in;
  std::int64_t out;
};

/// `channels` are the layer's own, whichever way its kernel goes; `windows` are the options of its
/// op.
template <class Options, class Windows>
Tensor make_kernel(const std::string& kind, int axes, const Fans& channels,
                   KernelChannels of_kernel, const SpatialSizes& kernel, const Options& options,
                   const Windows& windows, Site site) {
  mem::require_least(
      kind.c_str(),
      {{"inputs", channels.in}, {"outputs", channels.out}, {"groups", options.groups}});
  if (channels.in % options.groups != 0 || channels.out % options.groups != 0) {
    throw ValueError(fmt::format("{}: {} and {} channels cannot be shared by {} groups", kind,
                                 channels.in, channels.out, options.groups));
  }
  static_cast<void>(ops::conv_arguments(kind.c_str(), axes, windows));
  Shape shape = kernel.of(axes, kind.c_str(), "kernel", 1);
  const Shape window = shape;
  if (options.channels == Channels::last) {
    shape.push_back(of_kernel.in / options.groups);
    shape.push_back(of_kernel.out);
  } else {
    shape.insert(0, of_kernel.in / options.groups);
    shape.insert(0, of_kernel.out);
  }
  check_shape(shape, size_of(options.dtype), kind);  // no product below overflows
  const std::int64_t places = count(window);
  const Fans fans{places * (channels.in / options.groups),
                  places * (channels.out / options.groups)};
  return initial_of("kernel_initializer", options.kernel_initializer, shape, fans, options.dtype,
                    site);
}

template <class Options>
Tensor make_bias(const Fans& channels, const Options& options, Site site) {
  return initial_of("bias_initializer", options.bias_initializer, {channels.out}, channels,
                    options.dtype, site);
}

/// The sizes of a kernel along its spatial axes: 3x3.
std::string sizes_of(const Shape& kernel, int axes, Channels channels) {
  std::string sizes;
  for (int i = 0; i < axes; ++i) {
    sizes += fmt::format("{}{}", i == 0 ? "" : "x", kernel[channels == Channels::last ? i : i + 2]);
  }
  return sizes;
}

KernelChannels channels_of(const Shape& kernel, int axes, Channels channels, std::int64_t groups) {
  const bool is_last = channels == Channels::last;
  return {kernel[is_last ? axes : 1] * groups, kernel[is_last ? axes + 1 : 0]};
}

}  // namespace

Conv::Conv(int axes, std::int64_t inputs, std::int64_t outputs, const SpatialSizes& kernel,
           const ConvLayerOptions& options, Site site)
    : Layer(kind_of(kKinds, axes, site), site),
      axes_(axes),
      options_{.stride = options.stride,
               .padding = options.padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .channels = options.channels,
               .relu = options.relu},
      kernel_(add_parameter(
          "kernel",
          [&] {
            return make_kernel(kind(), axes, {inputs, outputs}, {inputs, outputs}, kernel, options,
                               options_, site);
          },
          site)) {
  if (!options.bias) return;
  bias_ = add_parameter(
      "bias",
      [&] {
        return make_bias({inputs, outputs}, options, site);
      },
      site);
}

std::string Conv::describe() const {
  const Shape& shape = kernel_.shape();
  const auto [in, out] = channels_of(shape, axes_, options_.channels, options_.groups);
  return fmt::format("{}, {} -> {}", sizes_of(shape, axes_, options_.channels), in, out);
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

ConvTranspose::ConvTranspose(int axes, std::int64_t inputs, std::int64_t outputs,
                             const SpatialSizes& kernel, const ConvTransposeLayerOptions& options,
                             Site site)
    : Layer(kind_of(kTransposedKinds, axes, site), site),
      axes_(axes),
      options_{.stride = options.stride,
               .padding = options.padding,
               .output_padding = options.output_padding,
               .dilation = options.dilation,
               .groups = options.groups,
               .channels = options.channels},
      kernel_(add_parameter(
          "kernel",
          [&] {  // that of the convolution which it is the transpose of: from outputs to inputs
            return make_kernel(kind(), axes, {inputs, outputs}, {.in = outputs, .out = inputs},
                               kernel, options, options_, site);
          },
          site)) {
  if (!options.bias) return;
  bias_ = add_parameter(
      "bias",
      [&] {
        return make_bias({inputs, outputs}, options, site);
      },
      site);
}

std::string ConvTranspose::describe() const {
  const Shape& shape = kernel_.shape();
  const auto [out, in] = channels_of(shape, axes_, options_.channels, options_.groups);
  return fmt::format("{}, {} -> {}", sizes_of(shape, axes_, options_.channels), in, out);
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
