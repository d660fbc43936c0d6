#include "tenure/ops/nn/conv.h"

#include <fmt/format.h>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/types.h"
#include "tenure/ops/reduce_ops.h"

namespace tenure::ops {

void for_each_product(const Convolution& c,
                      const std::function<void(std::size_t, std::size_t, std::size_t)>& f) {
  const Convolution::Axis &a = c.axes[0], &b = c.axes[1], &d = c.axes[2];
  const std::int64_t in_group = c.in_channels / c.groups;
  const std::int64_t out_group = c.out_channels / c.groups;
  for_each_index({c.batch, a.out, b.out, d.out}, [&](const Dims& out) {
    for_each_index({a.kernel, b.kernel, d.kernel}, [&](const Dims& tap) {
      const auto source = [](const Convolution::Axis& axis, std::int64_t o, std::int64_t t) {
        return o * axis.stride - axis.padding + t * axis.dilation;
      };
      const std::int64_t z = source(a, out[1], tap[0]);
      const std::int64_t y = source(b, out[2], tap[1]);
      const std::int64_t x = source(d, out[3], tap[2]);
      if (z < 0 || y < 0 || x < 0 || z >= a.in || y >= b.in || x >= d.in) return;
      for (std::int64_t o = 0; o < c.out_channels; ++o) {
        for (std::int64_t i = 0; i < in_group; ++i) {
          f(flat({c.batch, a.in, b.in, d.in, c.in_channels},
                 {out[0], z, y, x, o / out_group * in_group + i}),
            flat({a.kernel, b.kernel, d.kernel, in_group, c.out_channels},
                 {tap[0], tap[1], tap[2], i, o}),
            flat({c.batch, a.out, b.out, d.out, c.out_channels},
                 {out[0], out[1], out[2], out[3], o}));
        }
      }
    });
  });
}

std::vector<ConvSample> conv_samples() {
  const auto plain = [](int axes) {
    const Dims ones = Dims::filled(axes, 1);
    const Dims zeros = Dims::filled(axes, 0);
    return ConvArguments{ones, zeros, zeros, ones};
  };
  return {{{2, 6, 7, 3}, {3, 3, 3, 5}, plain(2)},
          {{1, 9, 8, 4}, {3, 2, 4, 20}, {{2, 3}, {1, 0}, {2, 1}, {1, 2}, 1}},
          {{2, 5, 5, 6}, {3, 3, 2, 9}, {{1, 1}, {1, 1}, {1, 1}, {1, 1}, 3}},
          {{1, 11, 7, 4}, {2, 3, 1, 4}, {{3, 2}, {0, 2}, {0, 1}, {2, 1}, 4}},
          {{2, 40, 2}, {5, 2, 70}, {{1}, {2}, {2}, {1}, 1}},
          {{1, 4, 5, 6, 2}, {2, 3, 2, 2, 3}, {{1, 2, 1}, {0, 1, 1}, {1, 1, 0}, {1, 1, 2}, 1}},
          {{2, 3, 3, 1}, {1, 1, 1, 36}, {{2, 2}, {0, 0}, {0, 0}, {1, 1}, 1}},
          {{0, 5, 5, 2}, {3, 3, 2, 4}, plain(2)},
          {{2, 4, 3}, {3, 3, 0}, plain(1)},
          {{1, 7, 6, 0}, {2, 2, 0, 3}, plain(2)}};
}

namespace {

template <bool relu>
struct ConvOp {
  static constexpr bool stages = true;
  static constexpr auto family = "convolution";
  static constexpr Precision precision = Precision::narrow;
  static constexpr auto memory = allocates().with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 64;

  static Specs infer(const Kernel& k) {
    require_same_type(k);
    const ConvArguments arguments = ConvArguments::of(k.attributes);
    const Convolution c = convolution_of(k.op, k.in[0].shape, k.in[1].shape, arguments);
    if (k.in.size() == 3 && k.in[2].shape != Shape{c.out_channels}) {
      throw ShapeError(
          k.op,
          fmt::format("a bias for {} output channels has shape {}, not {}", c.out_channels,
                      to_string(Shape{c.out_channels}), to_string(k.in[2].shape)),
          {k.in[1].shape.to_vector(), k.in[2].shape.to_vector()});
    }
    return {{k.in[0].dtype, output_shape(c, k.in[0].shape.size() - 2)}};
  }
  static Convolution convolution(const Kernel& k) {
    return convolution_of(k.op, k.in[0].shape, k.in[1].shape, ConvArguments::of(k.attributes));
  }
  static double flops(const Kernel& k) { return convolution(k).flops(); }
  static std::optional<Parts> parts(const Kernel&) { return Parts{.in = 1}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const Convolution c =
        convolution_of("reference", in[0].shape, in[1].shape, ConvArguments::of(a));
    Reference y = make_reference(output_shape(c, in[0].shape.size() - 2), [&](const Dims& index) {
      return in.size() == 3 ? in[2].values[static_cast<std::size_t>(index.back())] : 0;
    });
    for_each_product(c, [&](std::size_t ix, std::size_t iw, std::size_t iy) {
      y.values[iy] += in[0].values[ix] * in[1].values[iw];
    });
    for (long double& value : y.values) value = relu && value < 0 ? 0 : value;
    return {y};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    for (const ConvSample& s : conv_samples()) {
      Sample sample{.inputs = {{.shape = s.x}, {.shape = s.weights}},
                    .attributes = Attributes(s.arguments.stride, s.arguments.low, s.arguments.high,
                                             s.arguments.dilation, s.arguments.groups)};
      if (samples.size() % 2 == 0) sample.inputs.push_back({.shape = {s.weights.back()}});
      samples.push_back(std::move(sample));
    }
    return samples;
  }
  static void run_gradient(Backward& b);
};

struct Conv : ConvOp<false> {
  static constexpr auto name = "conv";
  static constexpr auto signature = "conv(x, weights, bias, stride, low, high, dilation, groups)";
  static constexpr auto doc = "convolution of channels-last images, with or without a bias";
  static constexpr GradientRule gradient{.needs = {{input_data(1), input_data(0), {}}},
                                         .run = run_gradient};
};

struct ConvRelu : ConvOp<true> {
  static constexpr auto name = "conv_relu";
  static constexpr auto signature =
      "conv_relu(x, weights, bias, stride, low, high, dilation, groups)";
  static constexpr auto doc = "relu of a convolution of channels-last images, in one pass";
  static constexpr GradientRule gradient{
      .needs = {{input_data(1) | output_data(0), input_data(0) | output_data(0), output_data(0)}},
      .run = run_gradient};
};

template <bool relu>
void ConvOp<relu>::run_gradient(Backward& b) {
  const ConvArguments arguments = ConvArguments::of(b.attributes);
  Tensor dy = std::move(b.gradients[0]);
  if constexpr (relu) {
    dy = relu_gradient({std::move(dy), b.site}, {std::move(b.outputs[0]), b.site});
  }
  const bool wants_bias = b.wanted.size() == 3 && b.wants(2);
  if (wants_bias && !b.wants(1)) {  // then x may not be there
    Axes axes;
    for (int axis = 0; axis + 1 < dy.rank(); ++axis) axes.push_back(axis);
    b.results[2] = sum({std::as_const(dy), b.site}, axes);
  }
  if (b.wants(1)) {
    std::vector<Tensor> gradients = weight_gradient(b.input(0), {std::as_const(dy), b.site},
                                                    arguments, b.specs[1].shape, wants_bias);
    b.results[1] = std::move(gradients[0]);
    if (wants_bias) b.results[2] = std::move(gradients[1]);
  }
  if (b.wants(0)) {
    b.results[0] = input_gradient({std::move(dy), b.site}, b.input(1), arguments,
                                  spatial_of(b.specs[0].shape));
  }
}

}  // namespace

const OpRecord& conv_record(bool relu) { return relu ? record<ConvRelu>() : record<Conv>(); }

Tensor convolve(const Operand& x, const Operand& weights, const ConvArguments& a) {
  return call(record<Conv>(), {x, weights},
              Attributes(a.stride, a.low, a.high, a.dilation, a.groups));
}

std::vector<const OpRecord*> convolution_ops() {
  return {&record<Conv>(), &record<ConvRelu>(), &conv_input_gradient_record(),
          &conv_weight_gradient_record(false), &conv_weight_gradient_record(true)};
}

}  // namespace tenure::ops
