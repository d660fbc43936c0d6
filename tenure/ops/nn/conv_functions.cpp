#include <fmt/format.h>

#include <algorithm>

#include "tenure/ops/conv_ops.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/conv.h"
#include "tenure/ops/nn/layout.h"
#include "tenure/ops/size_ops.h"

namespace tenure::ops {
namespace {

struct Named {
  const char* name;
  int axes;
};

const Shape& shape_of(const Operand& x, const char* op) {
  if (x.is_scalar()) throw ShapeError(op, "a number is neither an image nor a kernel");
  return x.tensor().body(op, x.site()).shape;
}

void require_rank(const Named& op, const char* what, const Shape& shape) {
  if (shape.size() == op.axes + 2) return;
  throw ShapeError(
      op.name,
      fmt::format("{} have {} dimensions, not those of {}", what, op.axes + 2, to_string(shape)),
      {shape.to_vector()});
}

bool is_open(const Shape& images, const Shape& kernel) {
  return has_unknown(images) || has_unknown(kernel);
}

/// Weights [outputs, channels, kernel...] as [kernel..., channels, outputs].
Tensor weights_last(const Operand& weights, int axes) {
  Axes order;
  for (int i = 0; i < axes; ++i) order.push_back(2 + i);
  order.push_back(1);
  order.push_back(0);
  return permute(Operand(weights.tensor(), weights.site()), order);
}

Tensor run_conv(const Named& op, const Operand& x, const Operand& weights, const Operand* bias,
                const ConvOptions& options) {
  return in_name_of(op.name, x.site(), [&] {
    const Shape& shape = shape_of(x, op.name);
    const Shape& kernel = shape_of(weights, op.name);
    require_rank(op, "images", shape);
    require_rank(op, "weights", kernel);
    if (options.padding.is_same() && is_open(shape, kernel)) {
      // How much padding there is depends on sizes.
      std::vector<Tensor> tensors{x.tensor(), weights.tensor()};
      if (bias != nullptr) {
        shape_of(*bias, op.name);
        tensors.push_back(bias->tensor());
      }
      const auto later = [op, options, site = x.site()](const std::vector<Tensor>& known) {
        const Operand given_bias(known.back(), site);
        return std::vector{run_conv(op, {known[0], site}, {known[1], site},
                                    known.size() == 3 ? &given_bias : nullptr, options)};
      };
      Tensor y = std::move(with_sizes(op.name, tensors, later, x.site()).front());
      x.consume();
      weights.consume();
      return y;
    }
    const bool first = options.channels == Channels::first;
    ConvArguments a = conv_arguments(op.name, op.axes, options);
    if (options.padding.is_same()) {
      for (int i = 0; i < op.axes; ++i) {
        const std::int64_t in = shape[first ? 2 + i : 1 + i];
        const std::int64_t size = kernel[first ? 2 + i : i];
        const std::int64_t out = (in + a.stride[i] - 1) / a.stride[i];
        const std::int64_t total = std::max<std::int64_t>(
            0, (out - 1) * a.stride[i] + (size - 1) * a.dilation[i] + 1 - in);
        a.low.push_back(total / 2);
        a.high.push_back(total - total / 2);
      }
    }
    const Attributes attributes(a.stride, a.low, a.high, a.dilation, a.groups);
    const OpRecord& record = conv_record(options.relu);
    const auto run = [&](const Operand& images, const Operand& w) {
      return bias == nullptr ? call(record, {images, w}, attributes)
                             : call(record, {images, w, *bias}, attributes);
    };
    if (!first) return run(x, weights);
    Tensor y = run({channels_last(x), x.site()}, {weights_last(weights, op.axes), weights.site()});
    x.consume();
    weights.consume();
    return channels_first({std::move(y), x.site()});
  });
}

Tensor run_transpose(const Named& op, const Operand& x, const Operand& weights,
                     const ConvTransposeOptions& options) {
  return in_name_of(op.name, x.site(), [&] {
    const Shape& shape = shape_of(x, op.name);
    const Shape& kernel = shape_of(weights, op.name);
    require_rank(op, "images", shape);
    require_rank(op, "weights", kernel);
    if (is_open(shape, kernel)) {
      const auto later = [op, options, site = x.site()](const std::vector<Tensor>& known) {
        return std::vector{run_transpose(op, {known[0], site}, {known[1], site}, options)};
      };
      Tensor y =
          std::move(with_sizes(op.name, {x.tensor(), weights.tensor()}, later, x.site()).front());
      x.consume();
      weights.consume();
      return y;
    }
    const bool first = options.channels == Channels::first;
    const ConvArguments a = conv_arguments(op.name, op.axes, options);
    const Dims extra = options.output_padding.of(op.axes, op.name, "output padding", 0);
    Dims spatial;
    for (int i = 0; i < op.axes; ++i) {
      const std::int64_t in = shape[first ? 2 + i : 1 + i];
      const std::int64_t size = kernel[first ? 2 + i : i];
      const std::int64_t out =
          (in - 1) * a.stride[i] - 2 * a.low[i] + a.dilation[i] * (size - 1) + extra[i] + 1;
      if (out < 0 || in < 1) {
        throw ShapeError(
            op.name,
            fmt::format("along spatial axis {} the result would have {} positions", i, out),
            {shape.to_vector(), kernel.to_vector()});
      }
      spatial.push_back(out);
    }
    if (!first) return input_gradient(x, weights, a, spatial);
    Tensor y = input_gradient({channels_last(x), x.site()},
                              {weights_last(weights, op.axes), weights.site()}, a, spatial);
    x.consume();
    weights.consume();
    return channels_first({std::move(y), x.site()});
  });
}

}  // namespace
}  // namespace tenure::ops

namespace tenure {

using ops::run_conv;
using ops::run_transpose;

void SpatialSizes::require(const char* op, const char* what, std::int64_t least) const {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  const Dims sizes = each_.empty() ? Dims{all_} : each_;
  for (const std::int64_t size : sizes) {
    if (size < least) {
      throw ValueError(fmt::format("{}: a {} is at least {}, not {}", op, what, least, size));
    }
    if (size > kMost) {
      throw ValueError(fmt::format("{}: a {} is at most 2^30, not {}", op, what, size));
    }
  }
}

Dims SpatialSizes::of(int axes, const char* op, const char* what, std::int64_t least) const {
  require(op, what, least);
  if (each_.empty()) return Dims::filled(axes, all_);
  if (each_.size() == axes) return each_;
  throw ValueError(fmt::format("{}: a {} is one number or one for each of {} axes, not {}", op,
                               what, axes, to_string(each_)));
}

Tensor conv1d(const Operand& x, const Operand& weights, const ConvOptions& options) {
  return run_conv({"conv1d", 1}, x, weights, nullptr, options);
}
Tensor conv2d(const Operand& x, const Operand& weights, const ConvOptions& options) {
  return run_conv({"conv2d", 2}, x, weights, nullptr, options);
}
Tensor conv3d(const Operand& x, const Operand& weights, const ConvOptions& options) {
  return run_conv({"conv3d", 3}, x, weights, nullptr, options);
}
Tensor conv1d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options) {
  return run_conv({"conv1d", 1}, x, weights, &bias, options);
}
Tensor conv2d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options) {
  return run_conv({"conv2d", 2}, x, weights, &bias, options);
}
Tensor conv3d(const Operand& x, const Operand& weights, const Operand& bias,
              const ConvOptions& options) {
  return run_conv({"conv3d", 3}, x, weights, &bias, options);
}

Tensor conv_transpose1d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options) {
  return run_transpose({"conv_transpose1d", 1}, x, weights, options);
}
Tensor conv_transpose2d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options) {
  return run_transpose({"conv_transpose2d", 2}, x, weights, options);
}
Tensor conv_transpose3d(const Operand& x, const Operand& weights,
                        const ConvTransposeOptions& options) {
  return run_transpose({"conv_transpose3d", 3}, x, weights, options);
}

}  // namespace tenure
