#pragma once

#include <functional>
#include <memory>
#include <string>

#include "tenure/graph/function.h"
#include "tenure/nn/trainer.h"

namespace tenure::nn {

/// How batches become steps.
class Steps {
 public:
  virtual ~Steps() = default;
  virtual LateScores run(const Tensors& x, const Tensors& target) = 0;
  virtual Plan plan(const Tensors& x, const Tensors& target) const = 0;
  /// What it keeps between batches, for checkpoints.
  virtual std::vector<NamedVariable> state() const = 0;

 protected:
  /// Has room for a batch's loss and metrics: made before a step runs, so that nothing can fail
  /// when it has changed the parameters.
  static LateScores room_for_scores(const TrainerOptions& options);
  /// `numbers` is as long as there are scores.
  /// They are read at once if the device has computed them, and nothing is held then; else kept
  /// from the scopes around the step, which may end before somebody asks.
  static void set(const LateScores& scores, std::vector<Tensor> numbers, Site site);
};

/// For FunctionOptions: says once that there are many traces. Each size of a batch is a plan of its
/// own, of which a function keeps as many as its cache takes.
std::function<void(const std::string&)> warn_once();

/// Something over inputs and targets. What it does depends on the modes of the model's layers too,
/// so that they are an argument.
using BatchFunction =
    Function<std::function<Tensors(const Tensors&, const Tensors&, const std::string& modes)>>;

/// What all ways have in common.
struct StepParts {
  const Layer& model;
  const Loss& loss;
  Optimizer& optimizer;
  const TrainerOptions& options;
  Site site;  ///< where the trainer was made

  /// In whatever type the model gives: the loss reads that.
  Tensors apply_model(const Tensors& x) const;
  /// What a model gave, as metrics and users see it: float32 where it computes in 16 bits.
  Tensors in_full(Tensors prediction) const;
  /// In a scope "loss"; metrics are in one of theirs.
  Tensor apply_loss(const Tensors& prediction, const Tensors& target) const;
  /// The line of compiled functions: where the trainer was made; where the optimizer was, if the
  /// standard library made the trainer.
  Site function_site() const;
  void add_metrics(const Tensors& prediction, const Tensors& target, Tensors& numbers) const;
};

std::unique_ptr<Steps> make_steps(const StepParts& parts);

/// `scores` has room for them.
void read_scores(const std::vector<Tensor>& numbers, Scores& scores, Site site);

}  // namespace tenure::nn
