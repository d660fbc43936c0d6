#pragma once

#include <array>
#include <utility>
#include <vector>

#include "tenure/nn/update_optimizer.h"
#include "tenure/ops/optimizer_ops.h"

// Their options and formulas are PyTorch's. Steps that are no single update op are in
// optimizers.cpp.

namespace tenure::nn {

/// Stochastic gradient descent; with a momentum it keeps a velocity for each parameter.
class Sgd final : public OptionsOptimizer<SgdOptions> {
 public:
  Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options = {},
      Site site = Site::current());

 private:
  void require_options(const SgdOptions& options) const override;
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  bool has_velocities_;
  std::array<std::vector<Variable>, 1> velocities_;
};

/// Adam (Kingma and Ba, 2015), and AMSGrad (Reddi et al., 2018).
class Adam : public UpdateOptimizer<adam_update> {
 public:
  explicit Adam(std::vector<NamedVariable> parameters, double rate = 1e-3,
                const AdamOptions& options = {}, Site site = Site::current())
      : Adam("adam", std::move(parameters), rate, options, site) {}

 protected:
  Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
       const AdamOptions& options, Site site);

  void require_options(const AdamOptions& options) const override;

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  bool has_largest_;
  std::vector<Variable> largest_;  // of AMSGrad
};

/// Adam with a decay of the weights that does not go through the gradient (Loshchilov and Hutter,
/// 2019).
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<NamedVariable> parameters, double rate = 1e-3,
                 const AdamOptions& options = {.weight_decay = 0.01}, Site site = Site::current())
      : Adam("adamw", std::move(parameters), rate, decoupled(options), site) {}

  /// As of every optimizer; the decay stays decoupled.
  void set_options(const std::vector<NamedVariable>& parameters, const AdamOptions& options,
                   double rate_factor = 1, Site site = Site::current()) {
    Adam::set_options(parameters, decoupled(options), rate_factor, site);
  }

 private:
  static AdamOptions decoupled(AdamOptions options) {
    options.decoupled = true;
    return options;
  }
};

struct AdamaxOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
/// Adam by the largest gradient instead of the mean square (Kingma and Ba, 2015).
class Adamax final : public OptionsOptimizer<AdamaxOptions> {
 public:
  explicit Adamax(std::vector<NamedVariable> parameters, double rate = 2e-3,
                  const AdamaxOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const AdamaxOptions& options) const override;
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  std::vector<Variable> means_;
  std::vector<Variable> largest_;
};

struct NadamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum_decay = 4e-3;
};
/// Adam with Nesterov's momentum (Dozat, 2016).
class Nadam final : public OptionsOptimizer<NadamOptions> {
 public:
  explicit Nadam(std::vector<NamedVariable> parameters, double rate = 2e-3,
                 const NadamOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const NadamOptions& options) const override;
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  std::vector<Variable> means_;
  std::vector<Variable> squares_;
  std::vector<Variable> products_;  // of the momenta of all steps
};

struct RadamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
};
/// Adam that goes along the momentum alone until the variance of its root is known (Liu et al.,
/// 2020).
class Radam final : public OptionsOptimizer<RadamOptions> {
 public:
  explicit Radam(std::vector<NamedVariable> parameters, double rate = 1e-3,
                 const RadamOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const RadamOptions& options) const override;
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  std::vector<Variable> means_;
  std::vector<Variable> squares_;
};

/// With options.centered the root is of the variance; with a momentum it keeps a velocity.
class Rmsprop final : public UpdateOptimizer<rmsprop_update> {
 public:
  explicit Rmsprop(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const RmspropOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const RmspropOptions& options) const override;
  void update(std::size_t i, Tensor gradient, const Step& step) override;

  bool has_velocities_;
  bool has_means_;
  std::vector<Variable> velocities_;
  std::vector<Variable> means_;
};

class Adagrad final : public UpdateOptimizer<adagrad_update> {
 public:
  explicit Adagrad(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const AdagradOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const AdagradOptions& options) const override;
};

/// Steps of equal size along the sign of a momentum (Chen et al., 2023).
class Lion final : public UpdateOptimizer<lion_update> {
 public:
  explicit Lion(std::vector<NamedVariable> parameters, double rate = 1e-4,
                const LionOptions& options = {}, Site site = Site::current());

 private:
  void require_options(const LionOptions& options) const override;
};

}  // namespace tenure::nn
