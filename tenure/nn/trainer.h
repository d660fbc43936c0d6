#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/graph/plan.h"
#include "tenure/nn/layer.h"
#include "tenure/nn/metrics.h"
#include "tenure/nn/optimizer.h"

namespace tenure::nn {

/// For 16-bit floats, whose small gradients would be zero: the loss is multiplied by a number that
/// the gradients are divided by. A step with gradients that are not finite is skipped and halves
/// it; so many steps without one double it. It stays between 2^-100 and 2^100.
struct LossScale {
  static constexpr double kLeast = 0x1p-100;
  static constexpr double kMost = 0x1p100;
  double initial = 65536;
  int growth_interval = 2000;
};

struct TrainerOptions {
  /// How many tensors of a batch, in fit(), evaluate() and predict(), are inputs of the model; the
  /// others are targets.
  int inputs = 1;
  std::vector<Metric> metrics{};
  /// The most bytes that may live while a step runs: parameters, the optimizer's state, the batch
  /// and all that the step computes. Some of the step is computed twice, and some of it runs in
  /// parts of the batch, where that is the price; an allocation past it would throw OutOfMemory.
  /// What cannot be held is refused before the first step, with a budget that can: see plan().
  std::optional<std::int64_t> budget{};
  /// Without a budget: the share of its time that a step may spend on computing some of itself
  /// twice and on running in parts, where that lowers its peak. Up to 0.01 it is what single loops
  /// make, activations mostly, of values that wait for the way back anyway, and is found at once;
  /// more is searched for.
  double recompute = 0;
  /// How long to look for what is best computed twice; see FunctionOptions::effort.
  int effort = 1;
  /// Gradients of so many batches make one step.
  int accumulate = 1;
  /// The longest that all gradients together may be.
  std::optional<double> clip_norm{};
  /// With float16 as precision there is one unless another is given.
  std::optional<LossScale> loss_scale{};
  /// bfloat16 or float16: model and loss compute under Autocast, so that products, convolutions and
  /// attention are in 16 bits, of float32 parameters. What waits for the way back is half as large.
  /// The loss is given what the model gives; predictions and what metrics see are float32.
  DType precision = DType::float32;
  /// Stops at the first number that is not finite, and names the op and the line that made it.
  bool check_numbers = false;
};

/// Means over what was seen.
struct Scores {
  double loss = 0;
  std::vector<double> metrics{};  ///< in the order of TrainerOptions::metrics
};

/// Scores of a step that the device may not have come to yet.
class LateScores {
 public:
  explicit LateScores(Scores room);
  /// Waits for them, once. No scope around the step takes them away before, and threads may ask at
  /// once; copies have them in common.
  const Scores& get(Site site = Site::current()) const;

 private:
  friend class Steps;
  struct State;
  std::shared_ptr<State> state_;
};

/// What a step takes, known before the first one.
struct StepPlan {
  Plan plan;                    ///< of the step
  std::int64_t parameters = 0;  ///< bytes of parameters and buffers
  std::int64_t optimizer = 0;   ///< bytes of the optimizer's state
  std::int64_t batch = 0;       ///< bytes of the inputs
  std::int64_t peak() const { return parameters + optimizer + batch + computation(); }
  /// What the plan takes, with its constants.
  std::int64_t computation() const { return plan.peak + plan.constants; }
};

/// Trains a model: forward, backward and update are one compiled function with one plan, in which
/// gradients are applied and freed as soon as they are ready.
class Trainer {
 public:
  /// Model and optimizer must outlive it. What is neither the model's nor the loss's has the line
  /// where it is made. Throws ValueError for options out of their domain, and for a loss or a
  /// metric without a function.
  Trainer(const Layer& model, Loss loss, Optimizer& optimizer, TrainerOptions options = {},
          Site site = Site::current());
  ~Trainer();
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  /// One batch, which is copied to the device of the parameters if it is elsewhere, as it is for
  /// score() and predict(). With `accumulate`, every so many of them change the parameters. If it
  /// throws, they and all that variables() has are as before.
  Scores step(const Tensor& x, const Tensor& target, Site site = Site::current());
  /// The same without waiting for a device that computes later: the next step can be given to it
  /// while it is at this one.
  LateScores step_ahead(const Tensor& x, const Tensor& target, Site site = Site::current());
  /// The same without training.
  Scores score(const Tensor& x, const Tensor& target, Site site = Site::current()) const;
  Tensor predict(const Tensor& x, Site site = Site::current()) const;

  // The same of models of several inputs or outputs, and of losses of several targets.
  Scores step(const Tensors& x, const Tensors& targets, Site site = Site::current());
  LateScores step_ahead(const Tensors& x, const Tensors& targets, Site site = Site::current());
  Scores score(const Tensors& x, const Tensors& targets, Site site = Site::current()) const;
  Tensors predict(const Tensors& x, Site site = Site::current()) const;

  /// What a step on such a batch takes; specs do. Where gradients are collected, that of the
  /// largest of its parts. Throws planner::BudgetError if the budget cannot be held; its least() is
  /// one that a trainer like this holds, as is every larger one.
  StepPlan plan(const Tensor& x, const Tensor& target, Site site = Site::current()) const;
  StepPlan plan(const Tensors& x, const Tensors& targets, Site site = Site::current()) const;

  /// The model's, the optimizer's and its own, for checkpoints: "model/dense/kernel", ...
  std::vector<NamedVariable> variables() const;
  /// Moves all of them to a device, where steps run from then on. All or, if it throws, nothing.
  void to(Device device, Site site = Site::current());
  /// Where the parameters are, and steps run: batches are copied there.
  Device device() const;
  /// Bytes of parameters, buffers and the optimizer's state.
  std::int64_t resident_bytes() const;

  const Layer& model() const { return model_; }
  Optimizer& optimizer() const { return optimizer_; }
  const Loss& loss() const { return loss_; }
  const TrainerOptions& options() const { return options_; }

 private:
  struct Compiled;
  void require_options() const;
  Tensors at_model(Tensors tensors, Site site) const;
  /// Traces depend on it, so it is set before each call. Throws ValueError if the model has had
  /// parts taken out: the optimizer would train what is no more there.
  void set_training(bool on) const;

  const Layer& model_;
  Optimizer& optimizer_;
  Loss loss_;
  TrainerOptions options_;
  std::int64_t removals_;  // of the model, when this was made
  std::unique_ptr<Compiled> compiled_;
};

}  // namespace tenure::nn
