#include <fmt/format.h>

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm.h"
#include "tenure/ops/nn/norm_reference.h"
#include "tenure/ops/nn/types.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

/// Normalization over all dimensions but the last; attribute: epsilon. Weights, and what is found
/// for each channel, have the type of x, or float32 beside one of 16 bits.
struct ColumnNorm {
  static constexpr bool stages = true;
  static constexpr auto family = "normalization";
  static constexpr auto types = kFloatTypes;
  static constexpr auto memory = reuses(1).with_workspace();
  static constexpr int outputs = 3;
  static constexpr Precision precision = Precision::beside;
  static constexpr double ulp_of_largest = 64;

  static void check(const Kernel& k, const Shape& x, std::size_t first_weight) {
    require_same_type(k, first_weight);
    for (std::size_t i = first_weight; i < k.in.size(); ++i) {
      const DType type = k.in[i].dtype;
      const bool fits = type == k.in[0].dtype || type == widened_type(k.in[0].dtype);
      if (fits && type == k.in[first_weight].dtype) continue;
      throw DTypeError(
          k.op, fmt::format("weights beside {} have that type or the one that it is computed in, "
                            "not {}; use cast",
                            name_of(k.in[0].dtype), name_of(type)));
    }
    if (x.size() < 2) {
      throw ShapeError(k.op,
                       fmt::format("a batch has two dimensions or more, not {}", to_string(x)),
                       {x.to_vector()});
    }
    for (std::size_t i = first_weight; i < k.in.size(); ++i) {
      if (k.in[i].shape == Shape{x.back()}) continue;
      throw ShapeError(k.op,
                       fmt::format("weight and bias of {} channels have shape {}, not {}", x.back(),
                                   to_string(Shape{x.back()}), to_string(k.in[i].shape)),
                       {x.to_vector(), k.in[i].shape.to_vector()});
    }
  }
  static Axes axes(const Shape& x) {
    Axes axes;
    for (int i = 0; i + 1 < x.size(); ++i) axes.push_back(i);
    return axes;
  }
  static Specs specs(const View& x, DType of_channels) {
    return {{x.dtype, x.shape}, {of_channels, {x.shape.back()}}, {of_channels, {x.shape.back()}}};
  }
  static double flops(const Kernel& k) { return 12.0 * static_cast<double>(k.in[0].count()); }
  /// With x, or dy and x, and then weights.
  static std::vector<Sample> make_samples(bool gradient) {
    std::vector<Sample> samples;
    const auto add = [&](const Shape& x, std::optional<DType> type, std::optional<DType> weights) {
      Sample s{.attributes = Attributes(0.125)};
      if (gradient) s.inputs.push_back({.shape = x, .low = -0.5, .dtype = type});
      s.inputs.push_back({.shape = x, .dtype = type});
      while (s.inputs.size() < 3) {
        s.inputs.push_back({.shape = {x.back()}, .low = 0.5, .dtype = weights});
      }
      samples.push_back(std::move(s));
    };
    for (const Shape& x : {Shape{4, 5, 6, 7}, Shape{130, 33}, Shape{21, 3, 8}, Shape{70, 1, 272},
                           Shape{9, 1}, Shape{3, 0}}) {
      add(x, std::nullopt, std::nullopt);
    }
    for (const DType type : {DType::bfloat16, DType::float16}) {
      for (const Shape& x : {Shape{5, 9, 7}, Shape{66, 3, 16}}) add(x, type, DType::float32);
    }
    return samples;
  }
};

struct BatchNormGradient : ColumnNorm {
  static constexpr auto name = "batch_norm_gradient";
  static constexpr auto signature = "batch_norm_gradient(dy, x, weight, epsilon)";
  static constexpr auto doc = "the gradients of batch_norm by its input, its weight and its bias";

  static Specs infer(const Kernel& k) {
    check(k, k.in[1].shape, 2);
    if (k.in[0].shape != k.in[1].shape) {
      throw ShapeError(k.op, "a gradient has the shape of what it is of",
                       {k.in[0].shape.to_vector(), k.in[1].shape.to_vector()});
    }
    return specs(k.in[0], k.in[2].dtype);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return norm_gradient_reference(in, axes(in[1].shape), 1, false,
                                   a.number(BatchNormAttributes::epsilon));
  }
  static std::vector<Sample> samples() { return make_samples(true); }
  static void run_gradient(Backward& b) {
    norm_gradient_rule(b, axes(b.specs[1].shape), false,
                       b.attributes.number(BatchNormAttributes::epsilon));
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(1, 2), input_data(0, 1, 2), input_data(0, 1), {}}},
      .run = run_gradient};
};

struct BatchNormOp : ColumnNorm {
  static constexpr auto name = "batch_norm";
  static constexpr auto signature = "batch_norm(x, weight, bias, epsilon = 1e-5)";
  static constexpr auto doc =
      "each channel with mean 0 and variance 1 over the batch, times weight plus bias; also mean "
      "and variance";

  static Specs infer(const Kernel& k) {
    check(k, k.in[0].shape, 1);
    const Shape& x = k.in[0].shape;
    if (x.back() > 0 && count(x) == 0) {
      throw ShapeError(k.op, fmt::format("a batch {} without elements has no mean", to_string(x)),
                       {x.to_vector()});
    }
    return specs(k.in[0], k.in[1].dtype);
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const NormReference norm =
        norm_reference(in, axes(in[0].shape), false, a.number(BatchNormAttributes::epsilon));
    const Shape channels{in[0].shape.back()};
    const auto of_channel = [&](const Reference& all) {
      return make_reference(
          channels, [&](const Dims& i) { return all.values[static_cast<std::size_t>(i[0])]; });
    };
    return {norm.y, of_channel(norm.mean), of_channel(norm.variance)};
  }
  static std::vector<Sample> samples() { return make_samples(false); }
  static void run_gradient(Backward& b) {
    const auto accumulate = [&](Tensor&& term) {
      if (term.dtype() != b.specs[0].dtype) term = cast(std::move(term), b.specs[0].dtype);
      b.results[0] =
          b.results[0].defined() ? add(std::move(b.results[0]), std::move(term)) : std::move(term);
    };
    if (b.gradients[0].defined()) {
      std::vector<Tensor> results = run_many_now(
          record<BatchNormGradient>(),
          std::array{Operand(std::move(b.gradients[0]), b.site), b.input(0), b.input(1)},
          b.attributes, b.site);
      for (std::size_t i = 0; i < 3; ++i) {
        if (b.wants(i)) b.results[i] = std::move(results[i]);
      }
    }
    if (!b.wants(0) || (!b.gradients[1].defined() && !b.gradients[2].defined())) return;
    const Shape& shape = b.specs[0].shape;
    const double rows = shape.back() == 0 ? 1 : static_cast<double>(count(shape) / shape.back());
    if (b.gradients[1].defined()) {
      accumulate(contiguous(broadcast_to(b.gradients[1] / rows, shape)));
    }
    if (b.gradients[2].defined()) {
      accumulate((Tensor(b.inputs[0]) - Tensor(b.outputs[1])) * (b.gradients[2] * (2 / rows)));
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1) | output_data(1), input_data(0, 1), input_data(0, 1), {}}},
      .run = run_gradient};
};

}  // namespace

const OpRecord& batch_norm_record() { return record<BatchNormOp>(); }

std::vector<const OpRecord*> batch_norm_ops() {
  return {&record<BatchNormOp>(), &record<BatchNormGradient>()};
}

}  // namespace tenure::ops
