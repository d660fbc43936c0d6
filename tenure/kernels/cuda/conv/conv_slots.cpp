#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/kernels/cuda/conv/conv_arguments.h"
#include "tenure/kernels/cuda/conv/library_conv.h"
#include "tenure/kernels/cuda/conv/unroll.h"
#include "tenure/kernels/cuda/driver/cublaslt-inl.h"
#include "tenure/kernels/cuda/driver/cudnn-inl.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/dense.h"
#include "tenure/kernels/cuda/reduce/reduce_plan.h"
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
const TypedKernel kAddBias = convolving("add_bias");
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

/// What both the library and the own kernels need of a call.
struct Call {
  ConvPart part;
  Convolution sizes;
  DType type;

  Call(const Kernel& k, ConvPart of, const Convolution& c)
      : part(of), sizes(c), type(k.in[0].dtype) {}
  LibraryConv library() const { return {.part = part, .type = type, .sizes = sizes}; }
  bool is_for_library() const { return library_convolves(library()); }
  /// Of both inputs, where they are not contiguous, and of the library.
  std::size_t library_workspace(const Kernel& k) const {
    DenseInputs inputs;
    inputs.read(k.in[0]);
    inputs.read(k.in[1]);
    return inputs.bytes() + library_conv_workspace(library());
  }
  /// Has the library compute output 0. False: it does not.
  bool run_library(Gpu& gpu, const Kernel& k) const {
    if (!is_for_library()) return false;
    DenseInputs inputs(gpu, k.op, k.workspace);
    void* const first = inputs.read(k.in[0]).data;
    void* const second = inputs.read(k.in[1]).data;
    void* const out = k.out[0].data;
    // As much as there is where nothing was copied: what the library does depends on it.
    const std::size_t room = std::min(library_conv_workspace(library()), inputs.rest().size());
    const auto run = [&](void* images, void* weights, void* results) {
      return library_convolve(gpu, k.op, library(), images, weights, results,
                              inputs.rest().first(room));
    };
    switch (part) {
      case ConvPart::results:
        return run(first, second, out);
      case ConvPart::images_gradient:
        return run(out, second, first);
      case ConvPart::weights_gradient:
        break;
    }
    return run(first, out, second);
  }
};

template <bool relu>
struct ConvSlot {
  static constexpr bool rounds_parts_anew = true;
  static Call call(const Kernel& k) {
    return {k, ConvPart::results,
            ops::convolution_of(k.op, k.in[0].shape, k.in[1].shape,
                                ops::ConvArguments::of(k.attributes))};
  }
  static std::size_t workspace(const Kernel& k) {
    const Call conv = call(k);
    return conv.is_for_library() ? conv.library_workspace(k) : 0;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const Call conv = call(k);
    ConvArguments a = arguments_of(conv.sizes);
    a.y = operand_of(k.out[0], 1);
    if (k.in.size() == 3) {
      a.bias = k.in[2].data;
      a.bias_step = k.in[2].strides[0];
    }
    a.relu = relu ? 1 : 0;
    if (conv.run_library(*gpu, k)) {
      if (a.bias == nullptr && !relu) return;
      gpu->launch(k.op, kAddBias, conv.type, grid_over(k.out[0].count(), kConvThreads), a);
      return;
    }
    a.x = operand_of(k.in[0], 1);
    a.weights = operand_of(k.in[1], 0);
    gpu->launch(k.op, kConvolve, conv.type,
                tiles_over(conv.sizes.outputs(), a.out_channels, a.groups), a);
  }
};

struct ConvInputGradientSlot {
  static constexpr bool rounds_parts_anew = true;
  static Call call(const Kernel& k) {
    return {k, ConvPart::images_gradient,
            ops::convolution_of_input_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes)};
  }
  static std::size_t workspace(const Kernel& k) {
    const Call conv = call(k);
    return conv.is_for_library() ? conv.library_workspace(k) : 0;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const Call conv = call(k);
    if (conv.run_library(*gpu, k)) return;
    ConvArguments a = arguments_of(conv.sizes);
    a.y = operand_of(k.in[0], 1);
    a.weights = operand_of(k.in[1], 0);
    a.x = operand_of(k.out[0], 1);
    gpu->launch(k.op, kInputGradient, conv.type,
                tiles_over(conv.sizes.inputs(), a.in_channels, a.groups), a);
  }
};

template <bool with_bias>
struct ConvWeightGradientSlot {
  static constexpr bool rounds_parts_anew = true;
  static constexpr bool adds = true;
  static Call call(const Kernel& k) {
    return {k, ConvPart::weights_gradient,
            ops::convolution_of_weight_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes)};
  }
  /// Few weights are few tiles: there are more when each image is by itself. That depends on no
  /// batch, so a batch in parts gives the same bits. What the library refuses is rare, and takes no
  /// memory for that.
  static bool is_apart(const Call& conv) {
    return !conv.is_for_library() && conv.sizes.weights() <= 64 * kConvTile * kConvTile;
  }
  static std::int64_t sum_bytes(const Kernel& k) {
    return static_cast<std::int64_t>(size_of(ops::compute_type(k.in[0].dtype)));
  }
  /// Of the results over all positions, where no image is by itself.
  static ReducePlan bias_plan(const Kernel& k) {
    Axes axes;
    for (int d = 0; d + 1 < k.in[1].shape.size(); ++d) axes.push_back(d);
    return {k.in[1], axes, TermOrder::free};
  }
  static std::size_t bias_sums(const Kernel& k, const Convolution& c) {
    if (!with_bias) return 0;
    return round_up(static_cast<std::size_t>(c.batch * c.out_channels * sum_bytes(k)), 64);
  }
  static std::size_t workspace(const Kernel& k) {
    const Call conv = call(k);
    if (conv.is_for_library()) {
      return std::max(with_bias ? bias_plan(k).workspace() : 0, conv.library_workspace(k));
    }
    const std::int64_t apart =
        is_apart(conv) ? conv.sizes.batch * conv.sizes.weights() * sum_bytes(k) : 0;
    return bias_sums(k, conv.sizes) + static_cast<std::size_t>(apart);
  }
  static void sum_images(Gpu& gpu, const Kernel& k, const void* sums, const View& out) {
    if (out.count() == 0) return;
    gpu.launch(k.op, kSumImages, k.in[0].dtype, grid_over(out.count(), kConvThreads),
               ImageSumArguments{.sums = sums,
                                 .out = out.data,
                                 .n = out.count(),
                                 .images = k.in[0].shape[0],
                                 .adds = k.adds ? 1 : 0});
  }
  static void sum_bias(Gpu& gpu, const Kernel& k, const Call& conv, ConvArguments a) {
    const Convolution& c = conv.sizes;
    if (conv.is_for_library()) {
      return bias_plan(k).launch(
          gpu, k.op, kReduceSum, conv.type,
          {.in = k.in[1].data, .out = k.out[1].data, .workspace = k.workspace.data()});
    }
    a.sums = k.workspace.data();
    if (c.batch * c.out_channels > 0) {
      gpu.launch(k.op, kBiasGradient, conv.type,
                 grid_over(c.batch * ((c.out_channels + 31) / 32) * kConvThreads, kConvThreads), a);
    }
    sum_images(gpu, k, a.sums, k.out[1]);
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const Call conv = call(k);
    const Convolution& c = conv.sizes;
    ConvArguments a = arguments_of(c);
    a.x = operand_of(k.in[0], 1);
    a.y = operand_of(k.in[1], 1);
    a.weights = operand_of(k.out[0], 0);
    a.adds = k.adds ? 1 : 0;
    if constexpr (with_bias) sum_bias(*gpu, k, conv, a);
    if (conv.run_library(*gpu, k)) return;
    const bool apart = is_apart(conv);
    a.sums = apart ? k.workspace.data() + bias_sums(k, c) : nullptr;
    if (k.out[0].count() > 0 && (c.batch > 0 || !apart)) {
      gpu->launch(
          k.op, kWeightGradient, conv.type,
          tiles_over(c.taps() * a.in_channels, a.out_channels, a.groups * (apart ? c.batch : 1)),
          a);
    }
    if (apart) sum_images(*gpu, k, a.sums, k.out[0]);
  }
};

/// Libraries begin their sums anew.
template <class Slot>
Row adding_row(const char* op) {
  Row made = row<Slot>(op);
  made.slot.adds = !cudnn().library.is_usable() && !cublaslt().library.is_usable();
  return made;
}

}  // namespace

Family conv_family() {
  return {{row<ConvSlot<false>>("conv"), row<ConvSlot<true>>("conv_relu"),
           row<ConvInputGradientSlot>("conv_input_gradient"),
           adding_row<ConvWeightGradientSlot<false>>("conv_weight_gradient"),
           adding_row<ConvWeightGradientSlot<true>>("conv_weight_bias_gradient")},
          {&kConvolve, &kAddBias, &kInputGradient, &kWeightGradient, &kBiasGradient, &kSumImages,
           &kUnrollImages}};
}

}  // namespace tenure::kernels::cuda
