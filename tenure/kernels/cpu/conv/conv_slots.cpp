#include "tenure/kernels/cpu/conv/conv.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/conv_shape.h"

namespace tenure::kernels {
namespace {

using ops::FusedNeighbours;
using ops::Kernel;

/// A loop follows on results that are computed where they lie. Fewer are in a cache still when the
/// convolution ends.
bool leads_loop(const Kernel& k, std::int64_t results) {
  constexpr std::int64_t kLarge = 8 * MiB;
  const DType type = k.in[0].dtype;
  return type == compute_type(type) && results * static_cast<std::int64_t>(size_of(type)) >= kLarge;
}
const FusedNeighbours* follower(const FusedNeighbours& neighbours) {
  return neighbours.after == nullptr ? nullptr : &neighbours;
}

template <bool relu>
struct ConvSlot {
  static Convolution convolution(const Kernel& k) {
    return ops::convolution_of(k.op, k.in[0].shape, k.in[1].shape,
                               ops::ConvArguments::of(k.attributes));
  }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    return staged_bytes(type, k.in, k.out) + convolve_workspace(convolution(k), type);
  }
  static void run(const Kernel& k) { run_fused(k, {}); }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View w = staging.read(k.in[1]);
    const void* const bias = k.in.size() == 3 ? staging.read(k.in[2]).data : nullptr;
    const View y = staging.write(k.out[0]);
    convolve(convolution(k), type, x.data, w.data, bias, relu, y.data, staging.rest(),
             follower(neighbours));
    staging.finish(y, k.out[0]);
  }
  static bool leads_loop(const Kernel& k) {
    const Convolution c = convolution(k);
    return kernels::leads_loop(k, c.outputs() * c.out_channels);
  }
  static constexpr ops::FusingKernel fusing{.leads_loop = leads_loop, .run = run_fused};
};

struct ConvInputGradientSlot {
  static Convolution convolution(const Kernel& k) {
    return ops::convolution_of_input_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    return staged_bytes(type, k.in, k.out) +
           convolve_input_gradient_workspace(convolution(k), type);
  }
  static void run(const Kernel& k) { run_fused(k, {}); }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View dy = staging.read(k.in[0]);
    const View w = staging.read(k.in[1]);
    const View dx = staging.write(k.out[0]);
    convolve_input_gradient(convolution(k), type, dy.data, w.data, dx.data, staging.rest(),
                            follower(neighbours));
    staging.finish(dx, k.out[0]);
  }
  static bool leads_loop(const Kernel& k) {
    const Convolution c = convolution(k);
    const auto& axes = c.axes;
    const std::int64_t inputs = c.batch * axes[0].in * axes[1].in * axes[2].in * c.in_channels;
    return axes[0].stride * axes[1].stride * axes[2].stride == 1 && kernels::leads_loop(k, inputs);
  }
  static constexpr ops::FusingKernel fusing{.leads_loop = leads_loop, .run = run_fused};
};

template <bool with_bias>
struct ConvWeightGradientSlot {
  static constexpr bool adds = true;
  static Convolution convolution(const Kernel& k) {
    return ops::convolution_of_weight_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    return staged_bytes(type, k.in, k.out) +
           convolve_weight_gradient_workspace(convolution(k), type);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View dy = staging.read(k.in[1]);
    const View dw = staging.write(k.out[0]);
    const View db = with_bias ? staging.write(k.out[with_bias ? 1 : 0]) : View{};
    convolve_weight_gradient(convolution(k), type, x.data, dy.data, dw.data, db.data, k.adds,
                             staging.rest());
    staging.finish(dw, k.out[0]);
    if constexpr (with_bias) staging.finish(db, k.out[1]);
  }
};

}  // namespace

std::vector<KernelRow> conv_kernels() {
  return {kernel_row<ConvSlot<false>>("conv"), kernel_row<ConvSlot<true>>("conv_relu"),
          kernel_row<ConvInputGradientSlot>("conv_input_gradient"),
          kernel_row<ConvWeightGradientSlot<false>>("conv_weight_gradient"),
          kernel_row<ConvWeightGradientSlot<true>>("conv_weight_bias_gradient")};
}

}  // namespace tenure::kernels
