// Updates of optimizers. update.h says how they are written.
#if defined(TENURE_OPS_NN_UPDATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_NN_UPDATES_INL_H_
#undef TENURE_OPS_NN_UPDATES_INL_H_
#else
#define TENURE_OPS_NN_UPDATES_INL_H_
#endif

#include <cmath>
#include <tuple>
#include <vector>

#include "tenure/ops/elementwise/definition.h"
#include "tenure/ops/elementwise/value_kinds.h"
#include "tenure/ops/nn/update.h"
#include "tenure/ops/optimizer_ops.h"

TENURE_BODIES_BEGIN

template <class V>
TENURE_BODY V number(double x) {
  return V(static_cast<typename V::Scalar>(x));
}

/// The gradient, and with it a decay of the parameter.
template <class V>
TENURE_BODY V with_decay(double decay, V parameter, V gradient) {
  return fma(number<V>(decay), parameter, gradient);
}

/// share * average + (1 - share) * x
template <class V>
TENURE_BODY V averaged(double share, V average, V x) {
  return fma(number<V>(share), average, number<V>(1 - share) * x);
}

struct SgdUpdate : Update<1, SgdOptions> {
  using Update::Update;
  static constexpr auto name = "sgd_update";
  static constexpr auto signature = "sgd_update(parameter, gradient, rate, weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient";
  static auto each(auto& o) { return std::tie(o.weight_decay); }
  template <class V>
  TENURE_BODY void change(V& parameter, V gradient) const {
    const V g = with_decay(options.weight_decay, parameter, gradient);
    parameter = fma(number<V>(-rate), g, parameter);
  }
  void element(UpdateElements& x, long double g) const {
    x[0] -= rate * (g + options.weight_decay * x[0]);
  }
  static std::vector<SgdOptions> settings() { return {{.weight_decay = 0.25}, {}}; }
};

struct SgdMomentumUpdate : Update<2, SgdOptions> {
  using Update::Update;
  static constexpr auto name = "sgd_momentum_update";
  static constexpr auto signature =
      "sgd_momentum_update(parameter, velocity, gradient, rate, momentum = 0.9, dampening = 0, "
      "nesterov = false, weight_decay = 0)";
  static constexpr auto doc = "a step along a velocity that gradients push";
  static auto each(auto& o) {
    return std::tie(o.momentum, o.dampening, o.nesterov, o.weight_decay);
  }
  template <class V>
  TENURE_BODY void change(V& parameter, V& velocity, V gradient) const {
    const V g = with_decay(options.weight_decay, parameter, gradient);
    const V momentum = number<V>(options.momentum);
    velocity = fma(momentum, velocity, number<V>(1 - options.dampening) * g);
    const V by = options.nesterov ? fma(momentum, velocity, g) : velocity;
    parameter = fma(number<V>(-rate), by, parameter);
  }
  void element(UpdateElements& x, long double g) const {
    g += options.weight_decay * x[0];
    x[1] = options.momentum * x[1] + (1 - options.dampening) * g;
    x[0] -= rate * (options.nesterov ? g + options.momentum * x[1] : x[1]);
  }
  static std::vector<SgdOptions> settings() {
    return {{.momentum = 0.875},
            {.momentum = 0.5, .dampening = 0.25, .nesterov = true, .weight_decay = 0.125}};
  }
};

struct AdamUpdate : Update<3, AdamOptions, true> {
  static constexpr auto name = "adam_update";
  static constexpr auto signature =
      "adam_update(parameter, mean, square, gradient, rate, step, beta1 = 0.9, beta2 = 0.999, "
      "epsilon = 1e-8, weight_decay = 0, decoupled = false)";
  static constexpr auto doc = "Adam, and with a decoupled decay AdamW";
  static auto each(auto& o) {
    return std::tie(o.beta1, o.beta2, o.epsilon, o.weight_decay, o.decoupled);
  }
  AdamUpdate(const AdamOptions& o, double rate_given, double step_given)
      : Update(o, rate_given, step_given),
        step(step_given),
        unbiased_rate(rate / (1 - std::pow(o.beta1, step))),
        unbiased_root(1 / std::sqrt(1 - std::pow(o.beta2, step))) {}
  template <class V>
  TENURE_BODY void change(V& parameter, V& mean, V& square, V gradient) const {
    V g = gradient;
    if (options.decoupled) {
      parameter = parameter * number<V>(1 - rate * options.weight_decay);
    } else {
      g = with_decay(options.weight_decay, parameter, g);
    }
    mean = averaged(options.beta1, mean, g);
    square = averaged(options.beta2, square, g * g);
    const V root = fma(sqrt(square), number<V>(unbiased_root), number<V>(options.epsilon));
    parameter = fma(number<V>(-unbiased_rate), mean / root, parameter);
  }
  void element(UpdateElements& x, long double g) const {
    if (options.decoupled) {
      x[0] -= rate * options.weight_decay * x[0];
    } else {
      g += options.weight_decay * x[0];
    }
    x[1] = options.beta1 * x[1] + (1 - options.beta1) * g;
    x[2] = options.beta2 * x[2] + (1 - options.beta2) * g * g;
    const long double mean = x[1] / (1 - std::pow(static_cast<long double>(options.beta1), step));
    const long double square = x[2] / (1 - std::pow(static_cast<long double>(options.beta2), step));
    x[0] -= rate * mean / (std::sqrt(square) + options.epsilon);
  }
  static std::vector<AdamOptions> settings() {
    return {{},
            {.beta1 = 0.5, .beta2 = 0.75, .epsilon = 1e-3, .weight_decay = 0.125},
            {.beta2 = 0.99, .weight_decay = 0.125, .decoupled = true}};
  }

  double step;
  // What corrects the bias of the averages, which begin at 0.
  double unbiased_rate;
  double unbiased_root;
};

struct RmspropUpdate : Update<2, RmspropOptions> {
  using Update::Update;
  static constexpr auto name = "rmsprop_update";
  static constexpr auto signature =
      "rmsprop_update(parameter, square, gradient, rate, alpha = 0.99, epsilon = 1e-8, "
      "weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient over the root of its average square";
  static auto each(auto& o) { return std::tie(o.alpha, o.epsilon, o.weight_decay); }
  template <class V>
  TENURE_BODY void change(V& parameter, V& square, V gradient) const {
    const V g = with_decay(options.weight_decay, parameter, gradient);
    square = averaged(options.alpha, square, g * g);
    parameter = fma(number<V>(-rate), g / (sqrt(square) + number<V>(options.epsilon)), parameter);
  }
  void element(UpdateElements& x, long double g) const {
    g += options.weight_decay * x[0];
    x[1] = options.alpha * x[1] + (1 - options.alpha) * g * g;
    x[0] -= rate * g / (std::sqrt(x[1]) + options.epsilon);
  }
  static std::vector<RmspropOptions> settings() {
    return {{}, {.alpha = 0.75, .epsilon = 1e-3, .weight_decay = 0.125}};
  }
};

struct AdagradUpdate : Update<2, AdagradOptions> {
  using Update::Update;
  static constexpr auto name = "adagrad_update";
  static constexpr auto signature =
      "adagrad_update(parameter, sum, gradient, rate, epsilon = 1e-10, weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient over the root of the sum of its squares";
  static auto each(auto& o) { return std::tie(o.epsilon, o.weight_decay); }
  template <class V>
  TENURE_BODY void change(V& parameter, V& sum, V gradient) const {
    const V g = with_decay(options.weight_decay, parameter, gradient);
    sum = fma(g, g, sum);
    parameter = fma(number<V>(-rate), g / (sqrt(sum) + number<V>(options.epsilon)), parameter);
  }
  void element(UpdateElements& x, long double g) const {
    g += options.weight_decay * x[0];
    x[1] += g * g;
    x[0] -= rate * g / (std::sqrt(x[1]) + options.epsilon);
  }
  static std::vector<AdagradOptions> settings() {
    return {{}, {.epsilon = 1e-3, .weight_decay = 0.125}};
  }
};

struct LionUpdate : Update<2, LionOptions> {
  using Update::Update;
  static constexpr auto name = "lion_update";
  static constexpr auto signature =
      "lion_update(parameter, mean, gradient, rate, beta1 = 0.9, beta2 = 0.99, weight_decay = 0)";
  static constexpr auto doc = "a step along the sign of an average of gradients";
  static auto each(auto& o) { return std::tie(o.beta1, o.beta2, o.weight_decay); }
  template <class V>
  TENURE_BODY void change(V& parameter, V& mean, V gradient) const {
    const V along = averaged(options.beta1, mean, gradient);
    const V sign = select(along == V(0), V(0), copy_sign(V(1), along));
    parameter = fma(number<V>(-rate), sign, parameter * number<V>(1 - rate * options.weight_decay));
    mean = averaged(options.beta2, mean, gradient);
  }
  void element(UpdateElements& x, long double g) const {
    const long double u = options.beta1 * x[1] + (1 - options.beta1) * g;
    const int sign = (u > 0) - (u < 0);
    x[0] -= rate * (sign + options.weight_decay * x[0]);
    x[1] = options.beta2 * x[1] + (1 - options.beta2) * g;
  }
  static std::vector<LionOptions> settings() {
    return {{}, {.beta1 = 0.5, .beta2 = 0.75, .weight_decay = 0.125}};
  }
};

// The list: each line makes a record, its kernels, and the function that the header declares, which
// has so many operands: the tensors, the gradient, the rate, and the step if the update counts
// them.
#define TENURE_UPDATES(OF_3, OF_4, OF_5, OF_6) \
  OF_3(sgd_update, SgdUpdate)                  \
  OF_4(sgd_momentum_update, SgdMomentumUpdate) \
  OF_6(adam_update, AdamUpdate)                \
  OF_4(rmsprop_update, RmspropUpdate)          \
  OF_4(adagrad_update, AdagradUpdate)          \
  OF_4(lion_update, LionUpdate)

using Updates =
    ListOf<void TENURE_UPDATES(TENURE_LISTED, TENURE_LISTED, TENURE_LISTED, TENURE_LISTED)>;

TENURE_BODIES_END

#endif  // include guard
