#include "tenure/nn/steps.h"

#include <cmath>
#include <utility>

#include "tenure/autograd/tape.h"
#include "tenure/graph/function.h"
#include "tenure/memory/scope.h"
#include "tenure/nn/clip.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

using BatchFunction = Function<std::function<std::vector<Tensor>(const Tensor&, const Tensor&)>>;

/// Its budget is what the model, the optimizer and `kept` bytes leave of the trainer's.
BatchFunction compiled(const StepParts& parts, const char* name, std::int64_t kept,
                       std::function<std::vector<Tensor>(const Tensor&, const Tensor&)> f) {
  std::optional<std::int64_t> budget = parts.options.budget;
  if (budget)
    *budget -= bytes_of(parts.model.variables()) + bytes_of(parts.optimizer.state()) + kept;
  return function(std::move(f), {.name = name,
                                 .warn_after = 0,
                                 .budget = budget,
                                 .recompute = parts.options.recompute,
                                 .check_numbers = parts.options.check_numbers});
}

using NumberFunction = Function<std::function<Tensor(const Tensor&)>>;

NumberFunction number_function(std::function<Tensor(const Tensor&)> f) {
  return function(std::move(f));
}

/// What goes to the front and what comes back.
struct Pass {
  std::vector<Tensor> numbers{};
  std::vector<Tensor> gradients{};
};

/// The loss is multiplied by `scale`, if there is one, before the way back.
Pass forward_and_back(const StepParts& parts, const Tensor& x, const Tensor& target,
                      const Variable* scale = nullptr) {
  GradientTape tape;
  const Tensor prediction = parts.model(x);
  Pass pass{.numbers = {parts.loss(prediction, target)}};
  Tensor loss = pass.numbers.front();
  if (scale != nullptr) loss = loss * scale->value();
  {
    const auto pause = tape.stop_recording();
    parts.add_metrics(prediction, target, pass.numbers);
  }
  const CategoryScope category(Category::gradient);
  pass.gradients =
      tape.gradient(loss, parts.optimizer.variables(), {.unconnected = Unconnected::zero});
  return pass;
}

std::vector<Tensor> clipped(const StepParts& parts, std::vector<Tensor> gradients) {
  if (!parts.options.clip_norm) return gradients;
  return clip_by_global_norm(std::move(gradients), *parts.options.clip_norm);
}

/// Forward, backward and update as one function.
class WholeStep final : public Steps {
 public:
  explicit WholeStep(const StepParts& parts)
      : step_(compiled(parts, "training step", 0, [parts](const Tensor& x, const Tensor& target) {
          Pass pass = forward_and_back(parts, x, target);
          parts.optimizer.apply(clipped(parts, std::move(pass.gradients)));
          return pass.numbers;
        })) {}

  Scores run(const Tensor& x, const Tensor& target) override { return scores_of(step_(x, target)); }
  Plan plan(const Tensor& x, const Tensor& target) const override { return step_.plan(x, target); }
  std::vector<NamedVariable> state() const override { return {}; }

 private:
  BatchFunction step_;
};

/// Gradients wait: for those of further batches, and for a look whether they are finite.
class CollectedStep final : public Steps {
 public:
  explicit CollectedStep(const StepParts& parts)
      : parts_(parts),
        scale_(scalar("scale", parts.options.loss_scale ? parts.options.loss_scale->initial : 1)),
        collected_(scalar("collected", 0)),
        good_steps_(scalar("good_steps", 0)),
        collect_(compiled(parts, "gradients", bytes_of(parts.optimizer.parameters()),
                          [this](const Tensor& x, const Tensor& target) {
                            Pass pass = forward_and_back(parts_, x, target, &scale_);
                            for (std::size_t i = 0; i < sums_.size(); ++i) {
                              sums_[i].assign_add(
                                  cast(std::move(pass.gradients[i]), DType::float32));
                            }
                            return pass.numbers;
                          })),
        is_finite_(number_function([this](const Tensor& yes) {
          Tensor finite = yes;
          for (const Variable& sum : sums_)
            finite = logical_and(finite, all(isfinite(sum.value())));
          return finite;
        })),
        update_(number_function([this](const Tensor& divisor) {
          std::vector<Tensor> gradients;
          for (const Variable& sum : sums_) gradients.push_back(sum.value() / divisor);
          parts_.optimizer.apply(clipped(parts_, std::move(gradients)));
          return divisor;
        })) {
    const CategoryScope category(Category::gradient);
    for (const NamedVariable& parameter : parts.optimizer.parameters()) {
      sums_.emplace_back(zeros(parameter.variable.shape()), "sum/" + parameter.name, false);
    }
  }

  Scores run(const Tensor& x, const Tensor& target) override {
    const Scores scores = scores_of(collect_(x, target));
    const double collected = number(collected_) + 1;
    if (collected < parts_.options.accumulate) {
      set(collected_, collected);
      return scores;
    }
    if (!parts_.options.loss_scale || is_finite_(full({}, true, DType::boolean)).item<bool>()) {
      update_(full({}, collected * number(scale_)));
      grow_scale();
    } else {
      set(scale_, number(scale_) / 2);
      set(good_steps_, 0);
    }
    for (const Variable& sum : sums_) sum.assign(zeros(sum.shape()));
    set(collected_, 0);
    return scores;
  }

  Plan plan(const Tensor& x, const Tensor& target) const override {
    return collect_.plan(x, target);
  }

  std::vector<NamedVariable> state() const override {
    std::vector<NamedVariable> all{
        {"scale", scale_}, {"collected", collected_}, {"good_steps", good_steps_}};
    for (const Variable& sum : sums_) all.push_back({sum.name(), sum});
    return all;
  }

 private:
  static Variable scalar(const char* name, double value) {
    return Variable(full({}, value), name, false);
  }
  static double number(const Variable& variable) { return variable.value().item<float>(); }
  static void set(const Variable& variable, double value) { variable.assign(full({}, value)); }

  void grow_scale() {
    if (!parts_.options.loss_scale) return;
    set(good_steps_, number(good_steps_) + 1);
    if (number(good_steps_) < parts_.options.loss_scale->growth_interval) return;
    set(scale_, number(scale_) * 2);
    set(good_steps_, 0);
  }

  StepParts parts_;
  Variable scale_;
  Variable collected_;   // batches since the last step
  Variable good_steps_;  // since the scale last changed
  std::vector<Variable> sums_;
  BatchFunction collect_;
  NumberFunction is_finite_;
  NumberFunction update_;
};

}  // namespace

void StepParts::add_metrics(const Tensor& prediction, const Tensor& target,
                            std::vector<Tensor>& numbers) const {
  for (const Metric& metric : options.metrics) {
    numbers.push_back(metric.value(prediction, target));
  }
}

std::unique_ptr<Steps> make_steps(const StepParts& parts) {
  if (parts.options.accumulate == 1 && !parts.options.loss_scale) {
    return std::make_unique<WholeStep>(parts);
  }
  return std::make_unique<CollectedStep>(parts);
}

Scores scores_of(const std::vector<Tensor>& numbers) {
  Scores scores{.loss = numbers.front().item<float>()};
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    scores.metrics.push_back(numbers[i].item<float>());
  }
  return scores;
}

}  // namespace tenure::nn
