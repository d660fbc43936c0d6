#include <fmt/format.h>

#include <cmath>

#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/nn/loss.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {
namespace {

// Each loss has its names, what it computes in long double (`value`, `by_x`), and derivatives
// over public ops: by the target (`by_t`), and of the derivative by x (`by_xx`, `by_xt`). The last
// ones may be a number.

/// What most losses have in common, for the samples: where predictions lie, and the attributes.
struct LossDefaults {
  static constexpr double low = -2, high = 2;
  static Attributes attributes(Reduction reduction) { return Attributes(to_attribute(reduction)); }
};

struct Mse : LossDefaults {
  static constexpr auto name = "mse_loss";
  static constexpr auto gradient_name = "mse_loss_gradient";
  static constexpr auto signature = "mse_loss(x, t, reduction = mean)";
  static constexpr auto gradient_signature = "mse_loss_gradient(x, t, gradient, reduction)";
  static constexpr auto doc = "(x - t)^2, its mean or its sum";
  static constexpr double flops = 3;
  static long double value(long double x, long double t, double) { return (x - t) * (x - t); }
  static long double by_x(long double x, long double t, double) { return 2 * (x - t); }
  static Tensor by_t(const Operand& x, const Operand& t, double) {
    return mul({sub(t, x), t.site()}, 2.0);
  }
  static Tensor by_xx(const Operand&, const Operand&, const Operand& v, double) {
    return mul(v, 2.0);
  }
  static Tensor by_xt(const Operand&, const Operand&, const Operand& v, double) {
    return mul(v, -2.0);
  }
};

struct L1 : LossDefaults {
  static constexpr auto name = "l1_loss";
  static constexpr auto gradient_name = "l1_loss_gradient";
  static constexpr auto signature = "l1_loss(x, t, reduction = mean)";
  static constexpr auto gradient_signature = "l1_loss_gradient(x, t, gradient, reduction)";
  static constexpr auto doc = "|x - t|, its mean or its sum";
  static constexpr double flops = 3;
  static long double value(long double x, long double t, double) { return std::abs(x - t); }
  static long double by_x(long double x, long double t, double) {
    return x > t ? 1 : x < t ? -1 : 0;
  }
  static Tensor by_t(const Operand& x, const Operand& t, double) {
    return sign({sub(t, x), t.site()});
  }
  static Tensor by_xx(const Operand&, const Operand&, const Operand& v, double) {
    return mul(v, 0.0);
  }
  static Tensor by_xt(const Operand&, const Operand&, const Operand& v, double) {
    return mul(v, 0.0);
  }
};

struct Huber : LossDefaults {
  static constexpr auto name = "huber_loss";
  static constexpr auto gradient_name = "huber_loss_gradient";
  static constexpr auto signature = "huber_loss(x, t, delta = 1, reduction = mean)";
  static constexpr auto gradient_signature =
      "huber_loss_gradient(x, t, gradient, delta, reduction)";
  static constexpr auto doc =
      "(x - t)^2 / 2 up to |x - t| = delta, from there on linear; its mean or its sum";
  static constexpr double flops = 6;
  static Attributes attributes(Reduction reduction) {
    return Attributes(0.75, to_attribute(reduction));
  }
  static long double value(long double x, long double t, double p) {
    const long double d = std::abs(x - t);
    return d <= p ? d * d / 2 : p * (d - 0.5L * p);
  }
  static long double by_x(long double x, long double t, double p) {
    return std::min<long double>(std::max<long double>(x - t, -p), p);
  }
  static Tensor by_t(const Operand& x, const Operand& t, double p) {
    return clamp({sub(t, x), t.site()}, -p, p);
  }
  static Tensor by_xx(const Operand& x, const Operand& t, const Operand& v, double p) {
    const Site site = x.site();
    const Tensor distance = abs({sub(x, t), site});
    return where({less_equal({distance, site}, p), site}, v, 0.0);
  }
  static Tensor by_xt(const Operand& x, const Operand& t, const Operand& v, double p) {
    return neg({by_xx(x, t, v, p), v.site()});
  }
};

/// Of probabilities: logarithms are not below kLeastLog, nor is x (1 - x), by which the
/// derivative is divided, below kLeastProduct.
struct ProbabilityCrossEntropy : LossDefaults {
  static constexpr auto name = "binary_cross_entropy";
  static constexpr auto gradient_name = "binary_cross_entropy_gradient";
  static constexpr auto signature = "binary_cross_entropy(x, t, reduction = mean)";
  static constexpr auto gradient_signature =
      "binary_cross_entropy_gradient(x, t, gradient, reduction)";
  static constexpr auto doc =
      "-t log(x) - (1 - t) log(1 - x) of probabilities, its mean or its sum";
  static constexpr double flops = 40;
  static constexpr double low = 0.1, high = 0.9;
  static long double value(long double x, long double t, double) {
    const auto bounded = [](long double log) { return log < kLeastLog ? kLeastLog : log; };
    return -t * bounded(std::log(x)) - (1 - t) * bounded(std::log1p(-x));
  }
  static long double by_x(long double x, long double t, double) {
    const long double product = x * (1 - x);
    return (x - t) / (product > kLeastProduct ? product : kLeastProduct);
  }
  static Tensor by_t(const Operand& x, const Operand&, double) {
    const Site site = x.site();
    const Tensor of_x = maximum({log(x), site}, {kLeastLog, site});
    const Tensor of_rest = maximum({log1p({neg(x), site}), site}, {kLeastLog, site});
    return sub({of_rest, site}, {of_x, site});
  }
  static Tensor product(const Operand& x) {
    const Site site = x.site();
    const Tensor rest = sub({1.0, site}, x);
    return maximum({mul(x, {rest, site}), site}, {kLeastProduct, site});
  }
  static Tensor by_xx(const Operand& x, const Operand& t, const Operand& v, double) {
    const Site site = x.site();
    const Tensor p = product(x);
    const Tensor slope = sub({1.0, site}, {mul(x, 2.0), site});
    const Tensor change = mul({sub(x, t), site}, {slope, site});
    const Tensor over = div({sub({p, site}, {change, site}), site}, {square({p, site}), site});
    return mul(v, {over, site});
  }
  static Tensor by_xt(const Operand& x, const Operand&, const Operand& v, double) {
    return neg({div(v, {product(x), x.site()}), x.site()});
  }
};

struct BinaryCrossEntropy : LossDefaults {
  static constexpr auto name = "binary_cross_entropy_with_logits";
  static constexpr auto gradient_name = "binary_cross_entropy_with_logits_gradient";
  static constexpr auto signature = "binary_cross_entropy_with_logits(x, t, reduction = mean)";
  static constexpr auto gradient_signature =
      "binary_cross_entropy_with_logits_gradient(x, t, gradient, reduction)";
  static constexpr auto doc =
      "-t log(sigmoid(x)) - (1 - t) log(1 - sigmoid(x)), its mean or its sum";
  static constexpr double flops = 30;
  static long double value(long double x, long double t, double) {
    return std::max(x, 0.0L) - x * t + std::log1p(std::exp(-std::abs(x)));
  }
  static long double by_x(long double x, long double t, double) {
    return 1 / (1 + std::exp(-x)) - t;
  }
  static Tensor by_t(const Operand& x, const Operand&, double) { return neg(x); }
  static Tensor by_xx(const Operand& x, const Operand&, const Operand& v, double) {
    const Site site = x.site();
    const Tensor s = sigmoid(x);
    const Tensor rest = sub({1.0, site}, {s, site});
    return mul(v, {mul({s, site}, {rest, site}), site});
  }
  static Tensor by_xt(const Operand&, const Operand&, const Operand& v, double) { return neg(v); }
};

struct KlDivergence : LossDefaults {
  static constexpr auto name = "kl_divergence";
  static constexpr auto gradient_name = "kl_divergence_gradient";
  static constexpr auto signature = "kl_divergence(x, t, reduction = mean)";
  static constexpr auto gradient_signature = "kl_divergence_gradient(x, t, gradient, reduction)";
  static constexpr auto doc =
      "t (log(t) - x) of log-probabilities x and probabilities t, its mean or its sum";
  static constexpr double flops = 15;
  // Log-probabilities; the probabilities of the samples are further from 1 than they are.
  static constexpr double low = -3, high = -2;
  static long double value(long double x, long double t, double) {
    return t == 0 ? 0 : t * (std::log(t) - x);
  }
  static long double by_x(long double, long double t, double) { return -t; }
  static Tensor by_t(const Operand& x, const Operand& t, double) {
    return sub({add({log(t), t.site()}, 1.0), t.site()}, x);
  }
  static Tensor by_xx(const Operand&, const Operand&, const Operand& v, double) {
    return mul(v, 0.0);
  }
  static Tensor by_xt(const Operand&, const Operand&, const Operand& v, double) { return neg(v); }
};

void check_inputs(const Kernel& k) {
  require_type_of_first(k, 1);
  require_shape(k, 1, "targets", k.in[0].shape);
  const double delta = parameter_of(k.attributes);
  if (has_parameter(k.attributes) && !(delta > 0)) {
    throw ValueError(fmt::format("{}: delta is {}, and must be above 0", k.op, delta));
  }
}

template <class Loss>
struct PointwiseLossOp {
  static constexpr auto family = "losses";
  static constexpr Precision precision = Precision::wide;
  static constexpr auto types = kFloatTypes;

  static Sample sample(const Shape& shape, Reduction reduction) {
    return {.inputs = {{.shape = shape, .low = Loss::low, .high = Loss::high},
                       {.shape = shape, .low = 0.25, .high = 1}},
            .attributes = Loss::attributes(reduction)};
  }
  static std::vector<Sample> samples() {
    return {sample({3, 70}, Reduction::mean),   sample({300, 4}, Reduction::sum),
            sample({2, 3, 5}, Reduction::none), sample({}, Reduction::mean),
            sample({}, Reduction::none),        sample({0, 3}, Reduction::mean),
            sample({1, 1}, Reduction::sum),     sample({2, 4500}, Reduction::none)};
  }
};

template <class Loss>
struct LossGradient;

/// Gradients and second gradients see dy as it arrives: divided by the count for a mean.
Tensor scaled_gradient(const Backward& b, const Tensor& dy) {
  if (reduction_of(b.attributes) != Reduction::mean) return dy;
  return mul({dy, b.site}, {scale_of(Reduction::mean, count(b.specs[0].shape)), b.site});
}

template <class Loss>
struct LossOf : PointwiseLossOp<Loss> {
  static constexpr auto name = Loss::name;
  static constexpr auto signature = Loss::signature;
  static constexpr auto doc = Loss::doc;
  static constexpr auto memory = allocates();
  static constexpr double ulp = 32;

  static Specs infer(const Kernel& k) {
    check_inputs(k);
    const bool reduces = reduction_of(k.attributes) != Reduction::none;
    return {{k.in[0].dtype, reduces ? Shape{} : k.in[0].shape}};
  }
  static double flops(const Kernel& k) {
    return Loss::flops * static_cast<double>(k.in[0].count());
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const auto value = [&](const Dims& index) {
      return Loss::value(at(in[0], index), at(in[1], index), parameter_of(a));
    };
    return reduced(make_reference(in[0].shape, value), reduction_of(a));
  }
  static void run_gradient(Backward& b) {
    const Attributes& a = b.attributes;
    if (b.wants(1)) {
      const Tensor dy = scaled_gradient(b, b.gradients[0]);
      b.results[1] =
          mul({Loss::by_t(b.input(0), b.input(1), parameter_of(a)), b.site}, {dy, b.site});
    }
    if (b.wants(0)) {
      b.results[0] = call(record<LossGradient<Loss>>(),
                          {{std::move(b.inputs[0]), b.site},
                           {std::move(b.inputs[1]), b.site},
                           {std::move(b.gradients[0]), b.site}},
                          a);
    }
  }
  static constexpr GradientRule gradient{.needs = {{input_data(0, 1), input_data(0, 1)}},
                                         .run = run_gradient};
};

template <class Loss>
struct LossGradient : PointwiseLossOp<Loss> {
  static constexpr auto name = Loss::gradient_name;
  static constexpr auto signature = Loss::gradient_signature;
  static constexpr auto doc = "the gradient of the loss by x";
  static constexpr auto memory = reuses(3);
  static constexpr double ulp_of_largest = 16;

  static Specs infer(const Kernel& k) {
    check_inputs(k);
    require_type_of_first(k, 2);
    require_shape(k, 2, "gradients of the loss",
                  reduction_of(k.attributes) == Reduction::none ? k.in[0].shape : Shape{});
    return {{k.in[0].dtype, k.in[0].shape}};
  }
  static double flops(const Kernel& k) {
    return Loss::flops * static_cast<double>(k.in[0].count());
  }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes& a) {
    const long double scale = scale_of(reduction_of(a), count(in[0].shape));
    return {make_reference(in[0].shape, [&](const Dims& index) {
      const long double dy = in[2].shape.empty() ? in[2].values[0] : at(in[2], index);
      return dy * scale * Loss::by_x(at(in[0], index), at(in[1], index), parameter_of(a));
    })};
  }
  static std::vector<Sample> samples() {
    std::vector<Sample> samples = PointwiseLossOp<Loss>::samples();
    for (Sample& sample : samples) {
      const bool reduces = reduction_of(sample.attributes) != Reduction::none;
      sample.inputs.push_back({.shape = reduces ? Shape{} : sample.inputs[0].shape, .low = 0.5});
    }
    return samples;
  }
  static void run_gradient(Backward& b) {
    const Tensor& x = b.inputs[0];
    const Tensor& t = b.inputs[1];
    const Tensor& v = b.gradients[0];
    const double p = parameter_of(b.attributes);
    const bool reduces = reduction_of(b.attributes) != Reduction::none;
    if (b.wants(0) || b.wants(1)) {
      const Tensor dy = scaled_gradient(b, b.inputs[2]);
      const Tensor weighted = mul({v, b.site}, {dy, b.site});
      const Operand w(weighted, b.site);
      if (b.wants(0)) b.results[0] = Loss::by_xx(b.input(0), b.input(1), w, p);
      if (b.wants(1)) b.results[1] = Loss::by_xt(b.input(0), b.input(1), w, p);
    }
    if (b.wants(2)) {
      const Tensor one = reduces ? ones({}, v.dtype(), b.site) : ones_like(v, std::nullopt, b.site);
      Tensor slope =
          call(record<LossGradient>(), {{x, b.site}, {t, b.site}, {one, b.site}}, b.attributes);
      Tensor product = mul({std::move(slope), b.site}, {v, b.site});
      b.results[2] = reduces ? sum({std::move(product), b.site}) : std::move(product);
    }
  }
  static constexpr GradientRule gradient{
      .needs = {{input_data(0, 1, 2), input_data(0, 1, 2), input_data(0, 1)}}, .run = run_gradient};
};

template <class... Loss>
std::vector<const OpRecord*> records() {
  return {&record<LossOf<Loss>>()..., &record<LossGradient<Loss>>()...};
}

}  // namespace

std::vector<const OpRecord*> pointwise_loss_ops() {
  return records<Mse, L1, Huber, BinaryCrossEntropy, ProbabilityCrossEntropy, KlDivergence>();
}

}  // namespace tenure::ops

namespace tenure {
namespace {

template <class Loss>
Tensor loss_of(const Operand& x, const Operand& t, Reduction reduction) {
  return ops::call(ops::record<ops::LossOf<Loss>>(), {x, t},
                   ops::Attributes(ops::to_attribute(reduction)));
}

}  // namespace

Tensor mse_loss(const Operand& predictions, const Operand& targets, Reduction reduction) {
  return loss_of<ops::Mse>(predictions, targets, reduction);
}
Tensor l1_loss(const Operand& predictions, const Operand& targets, Reduction reduction) {
  return loss_of<ops::L1>(predictions, targets, reduction);
}
Tensor huber_loss(const Operand& predictions, const Operand& targets, const HuberOptions& options) {
  return ops::call(ops::record<ops::LossOf<ops::Huber>>(), {predictions, targets},
                   ops::Attributes(options.delta, ops::to_attribute(options.reduction)));
}
Tensor binary_cross_entropy_with_logits(const Operand& logits, const Operand& targets,
                                        Reduction reduction) {
  return loss_of<ops::BinaryCrossEntropy>(logits, targets, reduction);
}
Tensor binary_cross_entropy(const Operand& probabilities, const Operand& targets,
                            Reduction reduction) {
  return loss_of<ops::ProbabilityCrossEntropy>(probabilities, targets, reduction);
}
Tensor kl_divergence(const Operand& log_probabilities, const Operand& targets,
                     Reduction reduction) {
  return loss_of<ops::KlDivergence>(log_probabilities, targets, reduction);
}

}  // namespace tenure
