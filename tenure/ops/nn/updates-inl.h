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
#include "tenure/ops/nn/update_bodies-inl.h"
#include "tenure/ops/optimizer_ops.h"

TENURE_BODIES_BEGIN

struct SgdUpdate : Update<1, SgdOptions> {
  using Update::Update;
  static constexpr auto name = "sgd_update";
  static constexpr auto signature = "sgd_update(parameter, gradient, rate, weight_decay = 0)";
  static constexpr auto doc = "a step against the gradient";
  static auto each(auto& o) { return std::tie(o.weight_decay); }
  template <class V>
  TENURE_BODY void change(V& parameter, V gradient) const {
    sgd_body(*this, parameter, gradient);
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
    sgd_momentum_body(*this, parameter, velocity, gradient);
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
        bias(adam_bias(rate, o.beta1, o.beta2, step)) {}
  template <class V>
  TENURE_BODY void change(V& parameter, V& mean, V& square, V gradient) const {
    adam_body(*this, parameter, mean, square, gradient);
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
  AdamBias bias;
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
    rmsprop_body(*this, parameter, square, gradient);
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
    adagrad_body(*this, parameter, sum, gradient);
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
    lion_body(*this, parameter, mean, gradient);
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
