#include "tenure/kernels/cpu/conv/conv.h"
#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/conv_shape.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

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
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View w = staging.read(k.in[1]);
    const void* const bias = k.in.size() == 3 ? staging.read(k.in[2]).data : nullptr;
    const View y = staging.write(k.out[0]);
    convolve(convolution(k), type, x.data, w.data, bias, relu, y.data, staging.rest());
    staging.finish(y, k.out[0]);
  }
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
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View dy = staging.read(k.in[0]);
    const View w = staging.read(k.in[1]);
    const View dx = staging.write(k.out[0]);
    convolve_input_gradient(convolution(k), type, dy.data, w.data, dx.data, staging.rest());
    staging.finish(dx, k.out[0]);
  }
};

struct ConvWeightGradientSlot {
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
    const View db = staging.write(k.out[1]);
    convolve_weight_gradient(convolution(k), type, x.data, dy.data, dw.data, db.data,
                             staging.rest());
    staging.finish(dw, k.out[0]);
    staging.finish(db, k.out[1]);
  }
};

}  // namespace

std::vector<KernelRow> conv_kernels() {
  return {kernel_row<ConvSlot<false>>("conv"), kernel_row<ConvSlot<true>>("conv_relu"),
          kernel_row<ConvInputGradientSlot>("conv_input_gradient"),
          kernel_row<ConvWeightGradientSlot>("conv_weight_gradient")};
}

}  // namespace tenure::kernels
