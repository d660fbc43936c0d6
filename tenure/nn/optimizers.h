#pragma once

#include <array>
#include <utility>
#include <vector>

#include "tenure/nn/update_optimizer.h"
#include "tenure/ops/optimizer_ops.h"

namespace tenure::nn {

/// Stochastic gradient descent; with a momentum it keeps a velocity for each parameter.
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options = {},
      Site site = Site::current())
      : Optimizer("sgd", std::move(parameters), rate, site), options_(options) {
    require_option("momentum", options.momentum);
    require_option("weight_decay", options.weight_decay);
    if (options.momentum != 0) velocities_[0] = make_slots("velocity");
  }

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override {
    velocities_[0].empty()
        ? change_by<sgd_update>(parameter(i), velocities_, i, std::move(gradient), step, options_)
        : change_by<sgd_momentum_update>(parameter(i), velocities_, i, std::move(gradient), step,
                                         options_);
  }
  SgdOptions options_;
  std::array<std::vector<Variable>, 1> velocities_;
};

/// Adam (Kingma and Ba, 2015).
class Adam : public UpdateOptimizer<adam_update> {
 public:
  explicit Adam(std::vector<NamedVariable> parameters, double rate = 1e-3,
                const AdamOptions& options = {}, Site site = Site::current())
      : Adam("adam", std::move(parameters), rate, options, site) {}

 protected:
  Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
       const AdamOptions& options, Site site)
      : UpdateOptimizer(kind, std::move(parameters), rate, options, {"mean", "square"}, site) {
    require_option("beta1", options.beta1, 1);
    require_option("beta2", options.beta2, 1);
    require_option("epsilon", options.epsilon);
    require_option("weight_decay", options.weight_decay);
  }
};

/// Adam with a decay of the weights that does not go through the gradient (Loshchilov and Hutter,
/// 2019).
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<NamedVariable> parameters, double rate = 1e-3,
                 const AdamOptions& options = {.weight_decay = 0.01}, Site site = Site::current())
      : Adam("adamw", std::move(parameters), rate, decoupled(options), site) {}

 private:
  static AdamOptions decoupled(AdamOptions options) {
    options.decoupled = true;
    return options;
  }
};

class Rmsprop final : public UpdateOptimizer<rmsprop_update> {
 public:
  explicit Rmsprop(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const RmspropOptions& options = {}, Site site = Site::current())
      : UpdateOptimizer("rmsprop", std::move(parameters), rate, options, {"square"}, site) {
    require_option("alpha", options.alpha, 1);
    require_option("epsilon", options.epsilon);
    require_option("weight_decay", options.weight_decay);
  }
};

class Adagrad final : public UpdateOptimizer<adagrad_update> {
 public:
  explicit Adagrad(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const AdagradOptions& options = {}, Site site = Site::current())
      : UpdateOptimizer("adagrad", std::move(parameters), rate, options, {"sum"}, site) {
    require_option("epsilon", options.epsilon);
    require_option("weight_decay", options.weight_decay);
  }
};

/// Steps of equal size along the sign of a momentum (Chen et al., 2023).
class Lion final : public UpdateOptimizer<lion_update> {
 public:
  explicit Lion(std::vector<NamedVariable> parameters, double rate = 1e-4,
                const LionOptions& options = {}, Site site = Site::current())
      : UpdateOptimizer("lion", std::move(parameters), rate, options, {"mean"}, site) {
    require_option("beta1", options.beta1, 1);
    require_option("beta2", options.beta2, 1);
    require_option("weight_decay", options.weight_decay);
  }
};

}  // namespace tenure::nn
