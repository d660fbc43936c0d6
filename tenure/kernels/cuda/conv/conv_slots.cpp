#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/conv_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/conv_shape.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Convolution;
using ops::Kernel;

constexpr std::uint32_t kConvThreads = 256;
constexpr std::int64_t kConvTile = 64;  // of tile.cuh

TypedKernel convolving(const char* function, const char* arguments = "ConvArguments") {
  return {"tenure/kernels/cuda/conv/conv.cu",
          function,
          arguments,
          kConvThreads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kConvolve = convolving("convolve");
const TypedKernel kInputGradient = convolving("convolve_input_gradient");
const TypedKernel kWeightGradient = convolving("convolve_weight_gradient");
const TypedKernel kBiasGradient = convolving("convolve_bias_gradient");
const TypedKernel kSumImages = convolving("sum_images", "ImageSumArguments");

/// Spatial axes that are missing have size 1 and come first, behind `leading` other axes.
ConvOperand operand_of(const View& view, int leading) {
  const int rank = view.shape.size();
  ConvOperand operand{.data = view.data, .strides = {}};
  for (int d = 0; d < rank; ++d) {
    operand.strides[d < leading ? d : d + 5 - rank] = view.strides[d];
  }
  return operand;
}

ConvArguments arguments_of(const Convolution& c) {
  ConvArguments a{};
  for (std::size_t d = 0; d < 3; ++d) {
    a.in[d] = c.axes[d].in;
    a.out[d] = c.axes[d].out;
    a.kernel[d] = c.axes[d].kernel;
    a.stride[d] = c.axes[d].stride;
    a.padding[d] = c.axes[d].padding;
    a.dilation[d] = c.axes[d].dilation;
  }
  a.batch = c.batch;
  a.in_channels = c.in_channels / c.groups;
  a.out_channels = c.out_channels / c.groups;
  a.groups = c.groups;
  return a;
}

Grid tiles_over(std::int64_t rows, std::int64_t columns, std::int64_t groups) {
  const std::int64_t tiles =
      (rows + kConvTile - 1) / kConvTile * ((columns + kConvTile - 1) / kConvTile) * groups;
  return grid_over(tiles * kConvThreads, kConvThreads);
}

std::int64_t positions(const Convolution& c) {
  return c.batch * c.axes[0].in * c.axes[1].in * c.axes[2].in;
}

template <bool relu>
struct ConvSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const Convolution c = ops::convolution_of(k.op, k.in[0].shape, k.in[1].shape,
                                              ops::ConvArguments::of(k.attributes));
    ConvArguments a = arguments_of(c);
    a.x = operand_of(k.in[0], 1);
    a.weights = operand_of(k.in[1], 0);
    a.y = operand_of(k.out[0], 1);
    if (k.in.size() == 3) {
      a.bias = k.in[2].data;
      a.bias_step = k.in[2].strides[0];
    }
    a.relu = relu ? 1 : 0;
    gpu->launch(k.op, kConvolve, k.in[0].dtype, tiles_over(c.outputs(), a.out_channels, a.groups),
                a);
  }
};

struct ConvInputGradientSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const Convolution c =
        ops::convolution_of_input_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
    ConvArguments a = arguments_of(c);
    a.y = operand_of(k.in[0], 1);
    a.weights = operand_of(k.in[1], 0);
    a.x = operand_of(k.out[0], 1);
    gpu->launch(k.op, kInputGradient, k.in[0].dtype,
                tiles_over(positions(c), a.in_channels, a.groups), a);
  }
};

struct ConvWeightGradientSlot {
  static constexpr bool adds = true;
  static Convolution convolution(const Kernel& k) {
    return ops::convolution_of_weight_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static std::int64_t weights(const Convolution& c) {
    return c.taps() * (c.in_channels / c.groups) * c.out_channels;
  }
  /// Few weights are few tiles: there are more when each image is by itself. That depends on no
  /// batch, so a batch in parts gives the same bits.
  static bool is_apart(const Convolution& c) { return weights(c) <= 64 * kConvTile * kConvTile; }
  static std::int64_t sum_bytes(const Kernel& k) {
    return static_cast<std::int64_t>(size_of(ops::compute_type(k.in[0].dtype)));
  }
  static std::size_t bias_sums(const Kernel& k, const Convolution& c) {
    return round_up(static_cast<std::size_t>(c.batch * c.out_channels * sum_bytes(k)), 64);
  }
  static std::size_t workspace(const Kernel& k) {
    const Convolution c = convolution(k);
    const std::int64_t apart = is_apart(c) ? c.batch * weights(c) * sum_bytes(k) : 0;
    return bias_sums(k, c) + static_cast<std::size_t>(apart);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const Convolution c = convolution(k);
    const DType type = k.in[0].dtype;
    ConvArguments a = arguments_of(c);
    a.x = operand_of(k.in[0], 1);
    a.y = operand_of(k.in[1], 1);
    a.weights = operand_of(k.out[0], 0);
    a.adds = k.adds ? 1 : 0;
    const auto sum = [&](const View& out) {
      if (out.count() == 0) return;
      gpu->launch(k.op, kSumImages, type, grid_over(out.count(), kConvThreads),
                  ImageSumArguments{.sums = a.sums,
                                    .out = out.data,
                                    .n = out.count(),
                                    .images = c.batch,
                                    .adds = a.adds});
    };
    a.sums = k.workspace.data();
    if (c.batch * c.out_channels > 0) {
      gpu->launch(k.op, kBiasGradient, type,
                  grid_over(c.batch * ((c.out_channels + 31) / 32) * kConvThreads, kConvThreads),
                  a);
    }
    sum(k.out[1]);
    const bool apart = is_apart(c);
    a.sums = apart ? k.workspace.data() + bias_sums(k, c) : nullptr;
    if (k.out[0].count() > 0 && (c.batch > 0 || !apart)) {
      gpu->launch(
          k.op, kWeightGradient, type,
          tiles_over(c.taps() * a.in_channels, a.out_channels, a.groups * (apart ? c.batch : 1)),
          a);
    }
    if (apart) sum(k.out[0]);
  }
};

}  // namespace

Family conv_family() {
  return {{row<ConvSlot<false>>("conv"), row<ConvSlot<true>>("conv_relu"),
           row<ConvInputGradientSlot>("conv_input_gradient"),
           row<ConvWeightGradientSlot>("conv_weight_gradient")},
          {&kConvolve, &kInputGradient, &kWeightGradient, &kBiasGradient, &kSumImages}};
}

}  // namespace tenure::kernels::cuda
