#include "tenure/ops/nn/norm.h"

#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/norm_reference.h"
#include "tenure/ops/nn/types.h"

namespace tenure::ops {

Shape normalized_shape(const char* op, const Shape& x, const Attributes& a) {
  const std::int64_t dims = a.integer(RowNormAttributes::dims);
  if (dims < 1 || dims > x.size()) {
    throw ShapeError(op,
                     fmt::format("{} dimensions cannot be normalized of {}", dims, to_string(x)),
                     {x.to_vector()});
  }
  Shape shape;
  for (int i = x.size() - static_cast<int>(dims); i < x.size(); ++i) shape.push_back(x[i]);
  return shape;
}

namespace {

/// Normalization of the last dimensions; attributes: how many, and epsilon.
struct RowNorm {
  static constexpr bool stages = true;
  static constexpr auto family = "normalization";
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 64;

  static void check(const Kernel& k, const Shape& x, std::size_t first_weight) {
    require_same_type(k);
    const Shape shape = normalized_shape(k.op, x, k.attributes);
    for (std::size_t i = first_weight; i < k.in.size(); ++i) {
      if (k.in[i].shape == shape) continue;
      throw ShapeError(k.op,
                       fmt::format("weight and bias have the shape {} of what is normalized, not "
                                   "{}",
                                   to_string(shape), to_string(k.in[i].shape)),
                       {x.to_vector(), k.in[i].shape.to_vector()});
    }
  }
  static Axes axes(const Shape& x, const Attributes& a) {
    Axes axes;
    for (int i = x.size() - static_cast<int>(a.integer(RowNormAttributes::dims)); i < x.size(); ++i)
      axes.push_back(i);
    return axes;
  }
};

template <bool rms>
struct RowNormForward : RowNorm {
  static constexpr auto memory = reuses(1).with_workspace();

  static Specs infer(const Kernel& k) {
    check(k, k.in[0].shape, 1);
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) { return 8.0 * static_cast<double>(k.in[0].count()); }
  static std::optional<Parts> parts(const Kernel& k) {
    if (k.attributes.integer(RowNormAttributes::dims) >= k.in[0].shape.size()) return std::nullopt;
    return Parts{.in = 1};
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return {norm_reference(in, axes(in[0].shape, a), rms, a.number(RowNormAttributes::epsilon)).y};
  }
  static std::vector<Sample> samples() { return norm_samples(rms ? 2 : 3, false); }
};

template <bool rms>
struct RowNormGradient : RowNorm {
  static constexpr int outputs = rms ? 2 : 3;
  // Of sums over all rows, of numbers that are small against what they are made of.
  static constexpr double ulp_of_largest = 2048;
  static constexpr auto memory = reuses(1).with_workspace();

  static Specs infer(const Kernel& k) {
    check(k, k.in[1].shape, 2);
    if (k.in[0].shape != k.in[1].shape) {
      throw ShapeError(k.op, "a gradient has the shape of what it is of",
                       {k.in[0].shape.to_vector(), k.in[1].shape.to_vector()});
    }
    const Spec by_weight{k.in[0].dtype, normalized_shape(k.op, k.in[1].shape, k.attributes)};
    if constexpr (rms) return {{k.in[0].dtype, k.in[0].shape}, by_weight};
    return {{k.in[0].dtype, k.in[0].shape}, by_weight, by_weight};
  }
  static double flops(const Kernel& k) { return 16.0 * static_cast<double>(k.in[0].count()); }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    return norm_gradient_reference(in, axes(in[1].shape, a),
                                   static_cast<int>(a.integer(RowNormAttributes::dims)), rms,
                                   a.number(RowNormAttributes::epsilon));
  }
  static std::vector<Sample> samples() { return norm_samples(3, true); }
  static void run_gradient(Backward& b) {
    norm_gradient_rule(b, axes(b.specs[1].shape, b.attributes), rms,
                       b.attributes.number(RowNormAttributes::epsilon));
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(1, 2), input_data(0, 1, 2), input_data(0, 1), {}}},
      .run = run_gradient};
};

struct LayerNormGradient : RowNormGradient<false> {
  static constexpr auto name = "layer_norm_gradient";
  static constexpr auto signature = "layer_norm_gradient(dy, x, weight, dims, epsilon)";
  static constexpr auto doc = "the gradients of layer_norm by its input, its weight and its bias";
};

struct RmsNormGradient : RowNormGradient<true> {
  static constexpr auto name = "rms_norm_gradient";
  static constexpr auto signature = "rms_norm_gradient(dy, x, weight, dims, epsilon)";
  static constexpr auto doc = "the gradients of rms_norm by its input and its weight";
};

/// The rule of a forward op whose gradient op is Op.
template <class Op>
void run_norm_gradient(Backward& b) {
  std::vector<Operand> operands{{std::move(b.gradients[0]), b.site}, b.input(0)};
  if (b.specs.size() > 1) operands.push_back(b.input(1));
  std::vector<Tensor> results = run_many_now(record<Op>(), operands, b.attributes, b.site);
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    if (b.wants(i)) b.results[i] = std::move(results[i]);
  }
}

struct LayerNorm : RowNormForward<false> {
  static constexpr auto name = "layer_norm";
  static constexpr auto signature = "layer_norm(x, weight, bias, dims = 1, epsilon = 1e-5)";
  static constexpr auto doc =
      "the last dimensions with mean 0 and variance 1, times weight plus bias";
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1), input_data(0, 1), input_data(0, 1)}},
      .run = run_norm_gradient<LayerNormGradient>};
};

struct RmsNorm : RowNormForward<true> {
  static constexpr auto name = "rms_norm";
  static constexpr auto signature = "rms_norm(x, weight, dims = 1, epsilon = 1e-5)";
  static constexpr auto doc = "the last dimensions with a mean square of 1, times weight";
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = run_norm_gradient<RmsNormGradient>};
};

}  // namespace

const OpRecord& layer_norm_record() { return record<LayerNorm>(); }
const OpRecord& rms_norm_record() { return record<RmsNorm>(); }

std::vector<const OpRecord*> row_norm_ops() {
  return {&record<LayerNorm>(), &record<LayerNormGradient>(), &record<RmsNorm>(),
          &record<RmsNormGradient>()};
}

}  // namespace tenure::ops
