#include <fmt/format.h>

#include "tenure/ops/core/compute_type.h"
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

  static Convolution convolution(const Kernel& k) {
    return convolution_of_input_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static Specs infer(const Kernel& k) {
    require_same_type(k);
    return {{k.in[0].dtype, image_shape(convolution(k), k.in[0].shape.size() - 2)}};
  }
  static double flops(const Kernel& k) { return convolution(k).flops(); }
  static std::optional<Parts> parts(const Kernel&) { return Parts{.in = 1}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Convolution c = convolution_of_input_gradient("reference", in[0].shape, in[1].shape, a);
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
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0)}},
                                         .run = run_gradient};
};

template <bool with_bias>
struct WeightGradientOp {
  static constexpr bool stages = true;
  static constexpr auto family = "convolution";
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr int outputs = with_bias ? 2 : 1;
  static constexpr double ulp_of_largest = 64;

  static Convolution convolution(const Kernel& k) {
    return convolution_of_weight_gradient(k.op, k.in[0].shape, k.in[1].shape, k.attributes);
  }
  static Specs infer(const Kernel& k) {
    require_same_type(k);
    const Convolution c = convolution(k);
    const Spec weights{k.in[0].dtype, weight_shape(c, k.in[0].shape.size() - 2)};
    if (!with_bias) return {weights};
    return {weights, {k.in[0].dtype, {c.out_channels}}};
  }
  static double flops(const Kernel& k) { return convolution(k).flops(); }
  static std::optional<Parts> parts(const Kernel& k) {
    // Narrower sums are computed in float32, and rounded when a part ends.
    if (k.in[0].dtype != compute_type(k.in[0].dtype)) return std::nullopt;
    return Parts{.in = 3, .sums = with_bias ? 3 : 1};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Convolution c = convolution_of_weight_gradient("reference", in[0].shape, in[1].shape, a);
    Reference dw = zero_reference(weight_shape(c, in[0].shape.size() - 2));
    for_each_product(c, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
      dw.values[iw] += in[0].values[ix] * in[1].values[iy];
    });
    if (!with_bias) return {dw};
    Reference db = zero_reference({c.out_channels});
    std::size_t i = 0;
    for_each_index(in[1].shape, [&](const Dims& index) {
      db.values[static_cast<std::size_t>(index.back())] += in[1].values[i++];
    });
    return {dw, db};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const ConvSample& s : conv_samples()) {
      const Convolution c = convolution_of("sample", s.x, s.weights, s.arguments);
      samples.push_back(
          {.inputs = {{.shape = s.x}, {.shape = output_shape(c, s.x.size() - 2), .low = -0.5}},
           .attributes = s.arguments.with(kernel_sizes(s.weights))});
    }
    return samples;
  }
  static void run_gradient(Backward& b);
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0)}},
                                         .run = run_gradient};
};

struct ConvWeightGradient : WeightGradientOp<false> {
  static constexpr auto name = "conv_weight_gradient";
  static constexpr auto signature =
      "conv_weight_gradient(x, dy, stride, low, high, dilation, groups, kernel)";
  static constexpr auto doc =
      "the gradient of a convolution by its weights with the given kernel sizes";
};

struct ConvWeightBiasGradient : WeightGradientOp<true> {
  static constexpr auto name = "conv_weight_bias_gradient";
  static constexpr auto signature =
      "conv_weight_bias_gradient(x, dy, stride, low, high, dilation, groups, kernel)";
  static constexpr auto doc =
      "the gradients of a convolution by its weights with the given kernel sizes, and by its bias";
};

void ConvInputGradient::run_gradient(Backward& b) {
  const ConvArguments arguments = ConvArguments::of(b.attributes);
  const Operand g{std::as_const(b.gradients[0]), b.site};
  if (b.wants(0)) b.results[0] = convolve(g, b.input(1), arguments);
  if (b.wants(1)) {
    b.results[1] =
        std::move(weight_gradient(g, b.input(0), arguments, b.specs[1].shape, false).front());
  }
}

template <bool with_bias>
void WeightGradientOp<with_bias>::run_gradient(Backward& b) {
  const ConvArguments arguments = ConvArguments::of(b.attributes);
  const Tensor& dw = b.gradients[0];
  const Tensor db = with_bias ? b.gradients[1] : Tensor();
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
const OpRecord& conv_weight_gradient_record(bool with_bias) {
  return with_bias ? record<ConvWeightBiasGradient>() : record<ConvWeightGradient>();
}

Tensor input_gradient(const Operand& dy, const Operand& weights, const ConvArguments& arguments,
                      const Dims& spatial) {
  return call(record<ConvInputGradient>(), {dy, weights}, arguments.with(spatial));
}

std::vector<Tensor> weight_gradient(const Operand& x, const Operand& dy,
                                    const ConvArguments& arguments, const Shape& weights,
                                    bool with_bias) {
  return run_many_now(conv_weight_gradient_record(with_bias), std::array{x, dy},
                      arguments.with(kernel_sizes(weights)), x.site());
}

}  // namespace tenure::ops
