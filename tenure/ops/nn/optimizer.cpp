#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/nn/update_rules.h"
#include "tenure/ops/optimizer_ops.h"

namespace tenure::ops {
namespace {

using Elements = std::array<long double, 3>;

/// An update of a parameter and its state by a gradient, as `Rule` says (update_rules.h). An op
/// adds its names and `element`, the reference: it changes a parameter x[0] and its state x[1...].
template <class Op, class Rule>
struct UpdateOp {
  static constexpr auto family = "optimizer updates";
  static constexpr int outputs = Rule::kTensors;
  static constexpr auto memory = reuses((1u << outputs) - 1).with_workspace();
  static constexpr auto types = kFloatTypes;
  static constexpr double ulp_of_largest = 8;
  static constexpr std::size_t kGradient = outputs;
  static constexpr std::size_t kRate = outputs + 1;
  static constexpr std::size_t kStep = outputs + 2;
  static constexpr std::size_t kInputs = Rule::kCountsSteps ? outputs + 3 : outputs + 2;

  static Specs infer(const Kernel& k) {
    const Shape& shape = k.in[0].shape;
    for (std::size_t i = 0; i <= kGradient; ++i) {
      const View& in = k.in[i];
      const char* const what = i == kGradient ? "gradient" : "state";
      if (in.shape != shape) {
        throw ShapeError(k.op,
                         fmt::format("a parameter {} has a {} of another shape, {}",
                                     to_string(shape), what, to_string(in.shape)),
                         {shape.to_vector(), in.shape.to_vector()});
      }
      const bool fits = i == 0 || i == kGradient ? is_floating(in.dtype)
                                                 : in.dtype == compute_type(k.in[0].dtype);
      if (!fits) {
        throw DTypeError(
            k.op,
            fmt::format("the {} of a {} parameter is {}, not {}", what, name_of(k.in[0].dtype),
                        i == kGradient ? "floating" : name_of(compute_type(k.in[0].dtype)),
                        name_of(in.dtype)));
      }
    }
    for (std::size_t i = kRate; i < kInputs; ++i) {
      if (k.in[i].shape.empty() && k.in[i].dtype != DType::boolean) continue;
      throw ShapeError(
          k.op,
          fmt::format("rate and step are numbers or tensors without dimensions, not {}",
                      to_string(k.in[i].shape)),
          {k.in[i].shape.to_vector()});
    }
    const DType state = compute_type(k.in[0].dtype);
    if constexpr (outputs == 1) return {{k.in[0].dtype, shape}};
    if constexpr (outputs == 2) return {{k.in[0].dtype, shape}, {state, shape}};
    if constexpr (outputs == 3) return {{k.in[0].dtype, shape}, {state, shape}, {state, shape}};
  }
  static double flops(const Kernel& k) { return 12.0 * static_cast<double>(k.in[0].count()); }

  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    double step = 0;
    if constexpr (Rule::kCountsSteps) step = static_cast<double>(in[kStep].values[0]);
    const Rule rule = Rule::of(a, static_cast<double>(in[kRate].values[0]), step);
    std::vector<Reference> out(in.begin(), in.begin() + outputs);
    for (std::size_t i = 0; i < in[0].values.size(); ++i) {
      Elements x{};
      for (std::size_t o = 0; o < outputs; ++o) x[o] = in[o].values[i];
      Op::element(rule, x, in[kGradient].values[i]);
      for (std::size_t o = 0; o < outputs; ++o) out[o].values[i] = x[o];
    }
    return out;
  }
  static Sample sample(const Shape& shape, DType parameter, DType gradient, const Attributes& a) {
    Sample s{.attributes = a};
    s.inputs.push_back({.shape = shape, .dtype = parameter});
    for (int i = 1; i < outputs; ++i) {  // averages of squares are not negative
      s.inputs.push_back({.shape = shape, .low = 0.1, .dtype = compute_type(parameter)});
    }
    s.inputs.push_back({.shape = shape, .dtype = gradient});
    s.inputs.push_back({.shape = {}, .low = 0.125, .high = 0.125, .dtype = DType::float32});
    if constexpr (Rule::kCountsSteps) {
      s.inputs.push_back({.shape = {}, .dtype = DType::int64, .values = {3}});
    }
    return s;
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples;
    constexpr DType f32 = DType::float32;
    for (const Attributes& a : Op::attributes()) {
      samples.push_back(sample({3, 41}, f32, f32, a));
      samples.push_back(sample({37}, DType::float64, DType::float64, a));
    }
    const Attributes a = Op::attributes().front();
    samples.push_back(sample({2, 19}, DType::bfloat16, DType::bfloat16, a));
    samples.push_back(sample({70}, f32, DType::float16, a));
    samples.push_back(sample({0, 3}, f32, f32, a));
    samples.push_back(sample({}, f32, f32, a));
    return samples;
  }
};

struct SgdUpdate : UpdateOp<SgdUpdate, SgdRule> {
  static constexpr auto name = "sgd_update";
  static constexpr auto signature = "sgd_update(parameter, gradient, rate, weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient";
  static void element(const SgdRule& r, Elements& x, long double g) {
    x[0] -= r.rate * (g + r.decay * x[0]);
  }
  static std::vector<Attributes> attributes() { return {Attributes(0.25), Attributes(0.0)}; }
};

struct SgdMomentumUpdate : UpdateOp<SgdMomentumUpdate, MomentumRule> {
  static constexpr auto name = "sgd_momentum_update";
  static constexpr auto signature =
      "sgd_momentum_update(parameter, velocity, gradient, rate, momentum = 0.9, dampening = 0, "
      "nesterov = false, weight_decay = 0)";
  static constexpr auto doc = "a step along a velocity that gradients push";
  static void element(const MomentumRule& r, Elements& x, long double g) {
    g += r.decay * x[0];
    x[1] = r.momentum * x[1] + (1 - r.dampening) * g;
    x[0] -= r.rate * (r.nesterov ? g + r.momentum * x[1] : x[1]);
  }
  static std::vector<Attributes> attributes() {
    return {Attributes(0.875, 0.0, false, 0.0), Attributes(0.5, 0.25, true, 0.125)};
  }
};

struct AdamUpdate : UpdateOp<AdamUpdate, AdamRule> {
  static constexpr auto name = "adam_update";
  static constexpr auto signature =
      "adam_update(parameter, mean, square, gradient, rate, step, beta1 = 0.9, beta2 = 0.999, "
      "epsilon = 1e-8, weight_decay = 0, decoupled = false)";
  static constexpr auto doc = "Adam, and with a decoupled decay AdamW";
  static void element(const AdamRule& r, Elements& x, long double g) {
    if (r.decoupled) {
      x[0] -= r.rate * r.decay * x[0];
    } else {
      g += r.decay * x[0];
    }
    x[1] = r.beta1 * x[1] + (1 - r.beta1) * g;
    x[2] = r.beta2 * x[2] + (1 - r.beta2) * g * g;
    const long double mean = x[1] / (1 - std::pow(static_cast<long double>(r.beta1), r.step));
    const long double square = x[2] / (1 - std::pow(static_cast<long double>(r.beta2), r.step));
    x[0] -= r.rate * mean / (std::sqrt(square) + r.epsilon);
  }
  static std::vector<Attributes> attributes() {
    return {Attributes(0.9, 0.999, 1e-8, 0.0, false), Attributes(0.5, 0.75, 1e-3, 0.125, false),
            Attributes(0.9, 0.99, 1e-8, 0.125, true)};
  }
};

struct RmspropUpdate : UpdateOp<RmspropUpdate, RmspropRule> {
  static constexpr auto name = "rmsprop_update";
  static constexpr auto signature =
      "rmsprop_update(parameter, square, gradient, rate, alpha = 0.99, epsilon = 1e-8, "
      "weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient over the root of its average square";
  static void element(const RmspropRule& r, Elements& x, long double g) {
    g += r.decay * x[0];
    x[1] = r.alpha * x[1] + (1 - r.alpha) * g * g;
    x[0] -= r.rate * g / (std::sqrt(x[1]) + r.epsilon);
  }
  static std::vector<Attributes> attributes() {
    return {Attributes(0.99, 1e-8, 0.0), Attributes(0.75, 1e-3, 0.125)};
  }
};

struct AdagradUpdate : UpdateOp<AdagradUpdate, AdagradRule> {
  static constexpr auto name = "adagrad_update";
  static constexpr auto signature =
      "adagrad_update(parameter, sum, gradient, rate, epsilon = 1e-10, weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient over the root of the sum of its squares";
  static void element(const AdagradRule& r, Elements& x, long double g) {
    g += r.decay * x[0];
    x[1] += g * g;
    x[0] -= r.rate * g / (std::sqrt(x[1]) + r.epsilon);
  }
  static std::vector<Attributes> attributes() {
    return {Attributes(1e-10, 0.0), Attributes(1e-3, 0.125)};
  }
};

struct LionUpdate : UpdateOp<LionUpdate, LionRule> {
  static constexpr auto name = "lion_update";
  static constexpr auto signature =
      "lion_update(parameter, mean, gradient, rate, beta1 = 0.9, beta2 = 0.99, weight_decay = 0)";
  static constexpr auto doc = "a step along the sign of an average of gradients";
  static void element(const LionRule& r, Elements& x, long double g) {
    const long double u = r.beta1 * x[1] + (1 - r.beta1) * g;
    const int sign = (u > 0) - (u < 0);
    x[0] -= r.rate * (sign + r.decay * x[0]);
    x[1] = r.beta2 * x[1] + (1 - r.beta2) * g;
  }
  static std::vector<Attributes> attributes() {
    return {Attributes(0.9, 0.99, 0.0), Attributes(0.5, 0.75, 0.125)};
  }
};

template <class Op>
std::array<Tensor, Op::outputs> call_update(std::initializer_list<Operand> operands,
                                            const Attributes& attributes) {
  std::vector<Tensor> results =
      run_many_now(record<Op>(), std::span(operands.begin(), operands.size()), attributes,
                   operands.begin()->site());
  std::array<Tensor, Op::outputs> out;
  std::move(results.begin(), results.end(), out.begin());
  return out;
}

}  // namespace

std::vector<const OpRecord*> optimizer_ops() {
  return {&record<SgdUpdate>(),     &record<SgdMomentumUpdate>(), &record<AdamUpdate>(),
          &record<RmspropUpdate>(), &record<AdagradUpdate>(),     &record<LionUpdate>()};
}

}  // namespace tenure::ops

namespace tenure {

using ops::Attributes;
using ops::call_update;

Tensor sgd_update(const Operand& parameter, const Operand& gradient, const Operand& rate,
                  const SgdOptions& o) {
  return ops::call(ops::record<ops::SgdUpdate>(), {parameter, gradient, rate},
                   Attributes(o.weight_decay));
}

std::array<Tensor, 2> sgd_momentum_update(const Operand& parameter, const Operand& velocity,
                                          const Operand& gradient, const Operand& rate,
                                          const SgdOptions& o) {
  return call_update<ops::SgdMomentumUpdate>(
      {parameter, velocity, gradient, rate},
      Attributes(o.momentum, o.dampening, o.nesterov, o.weight_decay));
}

std::array<Tensor, 3> adam_update(const Operand& parameter, const Operand& mean,
                                  const Operand& square, const Operand& gradient,
                                  const Operand& rate, const Operand& step, const AdamOptions& o) {
  return call_update<ops::AdamUpdate>(
      {parameter, mean, square, gradient, rate, step},
      Attributes(o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decoupled));
}

std::array<Tensor, 2> rmsprop_update(const Operand& parameter, const Operand& square,
                                     const Operand& gradient, const Operand& rate,
                                     const RmspropOptions& o) {
  return call_update<ops::RmspropUpdate>({parameter, square, gradient, rate},
                                         Attributes(o.alpha, o.epsilon, o.weight_decay));
}

std::array<Tensor, 2> adagrad_update(const Operand& parameter, const Operand& sum,
                                     const Operand& gradient, const Operand& rate,
                                     const AdagradOptions& o) {
  return call_update<ops::AdagradUpdate>({parameter, sum, gradient, rate},
                                         Attributes(o.epsilon, o.weight_decay));
}

std::array<Tensor, 2> lion_update(const Operand& parameter, const Operand& mean,
                                  const Operand& gradient, const Operand& rate,
                                  const LionOptions& o) {
  return call_update<ops::LionUpdate>({parameter, mean, gradient, rate},
                                      Attributes(o.beta1, o.beta2, o.weight_decay));
}

}  // namespace tenure
