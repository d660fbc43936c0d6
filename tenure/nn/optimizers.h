#pragma once

#include <vector>

#include "tenure/nn/optimizer.h"
#include "tenure/ops/optimizer_ops.h"

namespace tenure::nn {

/// Stochastic gradient descent; with a momentum it keeps a velocity for each parameter.
class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<NamedVariable> parameters, double rate, const SgdOptions& options = {},
      Site site = Site::current());

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;
  SgdOptions options_;
  std::vector<Variable> velocities_;
};

/// Adam (Kingma and Ba, 2015).
class Adam : public Optimizer {
 public:
  explicit Adam(std::vector<NamedVariable> parameters, double rate = 1e-3,
                const AdamOptions& options = {}, Site site = Site::current());

 protected:
  Adam(const char* kind, std::vector<NamedVariable> parameters, double rate,
       const AdamOptions& options, Site site);

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;
  AdamOptions options_;
  std::vector<Variable> means_;
  std::vector<Variable> squares_;
};

/// Adam with a decay of the weights that does not go through the gradient (Loshchilov and Hutter,
/// 2019).
class AdamW final : public Adam {
 public:
  explicit AdamW(std::vector<NamedVariable> parameters, double rate = 1e-3,
                 AdamOptions options = {.weight_decay = 0.01}, Site site = Site::current());
};

class Rmsprop final : public Optimizer {
 public:
  explicit Rmsprop(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const RmspropOptions& options = {}, Site site = Site::current());

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;
  RmspropOptions options_;
  std::vector<Variable> squares_;
};

class Adagrad final : public Optimizer {
 public:
  explicit Adagrad(std::vector<NamedVariable> parameters, double rate = 1e-2,
                   const AdagradOptions& options = {}, Site site = Site::current());

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;
  AdagradOptions options_;
  std::vector<Variable> sums_;
};

/// Steps of equal size along the sign of a momentum (Chen et al., 2023).
class Lion final : public Optimizer {
 public:
  explicit Lion(std::vector<NamedVariable> parameters, double rate = 1e-4,
                const LionOptions& options = {}, Site site = Site::current());

 private:
  void update(std::size_t i, Tensor gradient, const Step& step) override;
  LionOptions options_;
  std::vector<Variable> means_;
};

}  // namespace tenure::nn
