#include <fmt/format.h>

#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/conv.h"
#include "tenure/ops/nn/types.h"
#include "tenure/ops/shape_ops.h"

// A convolution is linear in its images and in its weights: gradients of any order are convolutions
// and their gradients again.

namespace tenure::ops {
namespace {

using kernels::compute_type;
using kernels::Convolution;
using kernels::Staging;

Reference zero_reference(const Shape& shape) {
  return make_reference(shape, [](const Dims&) { return 0.0L; });
}

Dims kernel_sizes(const Shape& weights) {
  Dims kernel = weights;
  kernel.erase(kernel.size() - 1);
  kernel.erase(kernel.size() - 1);
  return kernel;
}

struct ConvInputGradient {
  static constexpr bool stages = true;
  static constexpr auto family = "convolution";
  static constexpr auto name = "conv_input_gradient";
  static constexpr auto signature =
      "conv_input_gradient(dy, weights, stride, low, high, dilation, groups, spatial)";
  static constexpr auto doc =
      "the gradient of a convolution by its images of the given spatial sizes; also the transposed "
      "convolution";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 128;

  static Convolution convolution(const char* op, const Shape& dy, const Shape& weights,
                                 const Attributes& a) {
    const ConvArguments arguments = ConvArguments::of(a);
    if (dy.size() < 3 || dy.size() != weights.size()) {
      throw ShapeError(op,
                       fmt::format("images {} and weights {} differ in their spatial axes",
                                   to_string(dy), to_string(weights)),
                       {dy.to_vector(), weights.to_vector()});
    }
    const Shape x = with_spatial(dy, a.dims(5), weights[weights.size() - 2] * arguments.groups);
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
  static Convolution convolution(const Kernel& k) {
    return convolution(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static Specs infer(const Kernel& k) {
    require_same_type(k);
    return {{k.in[0].dtype, image_shape(convolution(k), k.in[0].shape.size() - 2)}};
  }
  static double flops(const Kernel& k) { return convolution(k).flops(); }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type);
    staging.read(k.in[0]);
    staging.read(k.in[1]);
    staging.write(k.out[0]);
    return staging.bytes() + kernels::convolve_input_gradient_workspace(convolution(k), type);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View dy = staging.read(k.in[0]);
    const View w = staging.read(k.in[1]);
    const View dx = staging.write(k.out[0]);
    kernels::convolve_input_gradient(convolution(k), type, dy.data, w.data, dx.data,
                                     staging.rest());
    staging.finish(dx, k.out[0]);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Convolution c = convolution("reference", in[0].shape, in[1].shape, a);
    Reference dx = zero_reference(image_shape(c, in[0].shape.size() - 2));
    for_each_product(c, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
      dx.values[ix] += in[0].values[iy] * in[1].values[iw];
    });
    return {dx};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const ConvSample& s : conv_samples()) {
      const Convolution c = convolution_of(name, s.x, s.weights, s.arguments);
      samples.push_back({.inputs = {{.shape = output_shape(c, s.x.size() - 2), .low = -0.5},
                                    {.shape = s.weights}},
                         .attributes = s.arguments.with(spatial_of(s.x))});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 1}}},
                                         .run = run_gradient};
};

struct ConvWeightGradient {
  static constexpr bool stages = true;
  static constexpr auto family = "convolution";
  static constexpr auto name = "conv_weight_gradient";
  static constexpr auto signature =
      "conv_weight_gradient(x, dy, stride, low, high, dilation, groups, kernel)";
  static constexpr auto doc =
      "the gradients of a convolution by its weights with the given kernel sizes, and by its bias";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr int outputs = 2;
  static constexpr double ulp_of_largest = 64;

  static Convolution convolution(const char* op, const Shape& x, const Shape& dy,
                                 const Attributes& a) {
    const ConvArguments arguments = ConvArguments::of(a);
    Shape weights = a.dims(5);
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
  static Convolution convolution(const Kernel& k) {
    return convolution(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static Specs infer(const Kernel& k) {
    require_same_type(k);
    const Convolution c = convolution(k);
    return {{k.in[0].dtype, weight_shape(c, k.in[0].shape.size() - 2)},
            {k.in[0].dtype, {c.out_channels}}};
  }
  static double flops(const Kernel& k) { return convolution(k).flops(); }
  static std::size_t workspace(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type);
    for (const View& in : k.in) staging.read(in);
    for (const View& out : k.out) staging.write(out);
    return staging.bytes() + kernels::convolve_weight_gradient_workspace(convolution(k), type);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View dy = staging.read(k.in[1]);
    const View dw = staging.write(k.out[0]);
    const View db = staging.write(k.out[1]);
    kernels::convolve_weight_gradient(convolution(k), type, x.data, dy.data, dw.data, db.data,
                                      staging.rest());
    staging.finish(dw, k.out[0]);
    staging.finish(db, k.out[1]);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Convolution c = convolution("reference", in[0].shape, in[1].shape, a);
    Reference dw = zero_reference(weight_shape(c, in[0].shape.size() - 2));
    Reference db = zero_reference({c.out_channels});
    for_each_product(c, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
      dw.values[iw] += in[0].values[ix] * in[1].values[iy];
    });
    std::size_t i = 0;
    for_each_index(in[1].shape, [&](const Dims& index) {
      db.values[static_cast<std::size_t>(index.back())] += in[1].values[i++];
    });
    return {dw, db};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const ConvSample& s : conv_samples()) {
      const Convolution c = convolution_of(name, s.x, s.weights, s.arguments);
      samples.push_back(
          {.inputs = {{.shape = s.x}, {.shape = output_shape(c, s.x.size() - 2), .low = -0.5}},
           .attributes = s.arguments.with(kernel_sizes(s.weights))});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{{.inputs = 2}, {.inputs = 1}}},
                                         .run = run_gradient};
};

void ConvInputGradient::run_gradient(Backward& b) {
  const ConvArguments arguments = ConvArguments::of(b.attributes);
  const Operand g{std::as_const(b.gradients[0]), b.site};
  if (b.wants(0)) b.results[0] = convolve(g, b.input(1), arguments);
  if (b.wants(1)) {
    b.results[1] = std::move(weight_gradient(g, b.input(0), arguments, b.specs[1].shape).front());
  }
}

void ConvWeightGradient::run_gradient(Backward& b) {
  const ConvArguments arguments = ConvArguments::of(b.attributes);
  const Tensor& dw = b.gradients[0];
  const Tensor& db = b.gradients[1];
  if (b.wants(0) && dw.defined()) {
    b.results[0] =
        input_gradient(b.input(1), {dw, b.site}, arguments, spatial_of(b.specs[0].shape));
  }
  if (!b.wants(1)) return;
  if (dw.defined()) b.results[1] = convolve(b.input(0), {dw, b.site}, arguments);
  if (db.defined()) {
    const Tensor all = broadcast_to({db, b.site}, b.specs[1].shape);
    b.results[1] = b.results[1].defined() ? add({std::move(b.results[1]), b.site}, {all, b.site})
                                          : contiguous({all, b.site});
  }
}

}  // namespace

const OpRecord& conv_input_gradient_record() { return record<ConvInputGradient>(); }
const OpRecord& conv_weight_gradient_record() { return record<ConvWeightGradient>(); }

Tensor input_gradient(const Operand& dy, const Operand& weights, const ConvArguments& arguments,
                      const Dims& spatial) {
  return call(record<ConvInputGradient>(), {dy, weights}, arguments.with(spatial));
}

std::vector<Tensor> weight_gradient(const Operand& x, const Operand& dy,
                                    const ConvArguments& arguments, const Shape& weights) {
  return run_many_now(record<ConvWeightGradient>(), std::array{x, dy},
                      arguments.with(kernel_sizes(weights)), x.site());
}

}  // namespace tenure::ops
