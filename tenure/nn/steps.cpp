#include "tenure/nn/steps.h"

#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tenure/autograd/tape.h"
#include "tenure/graph/function.h"
#include "tenure/memory/scope.h"
#include "tenure/nn/clip.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/step_checks.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// Says once that there are many traces: each size of a batch is a plan of its own, of which the
/// function keeps as many as its cache takes.
std::function<void(const std::string&)> warn_once() {
  return [is_told = false](const std::string& text) mutable {
    if (std::exchange(is_told, true)) return;
    std::fputs((text + " or pad the batches to a few sizes\n").c_str(), stderr);
  };
}

/// The budget is what the model, the optimizer and `kept` bytes leave of the trainer's.
template <class F>
Function<F> compiled(const StepParts& parts, const char* name, std::int64_t kept, F f) {
  std::optional<std::int64_t> budget = parts.options.budget;
  if (budget) {
    *budget -= bytes_of(parts.model.variables()) + bytes_of(parts.optimizer.state()) + kept;
  }
  return function(std::move(f), {.name = name,
                                 .warn = warn_once(),
                                 .budget = budget,
                                 .recompute = parts.options.recompute,
                                 .check_numbers = parts.options.check_numbers});
}

/// Of each parameter of the optimizer, whether a frozen layer keeps it as it is.
std::vector<bool> frozen_parameters(const StepParts& parts) {
  std::set<const graph::VariableState*> frozen;
  for (const NamedVariable& own : parts.model.parameters()) {
    frozen.insert(own.variable.state().get());
  }
  for (const NamedVariable& own : parts.model.trainable()) {
    frozen.erase(own.variable.state().get());
  }
  std::vector<bool> list;
  for (const NamedVariable& own : parts.optimizer.parameters()) {
    list.push_back(frozen.contains(own.variable.state().get()));
  }
  return list;
}

/// What goes to the front and what comes back.
struct Pass {
  std::vector<Tensor> numbers{};
  /// Of the optimizer's parameters; none of frozen ones and of those that the loss does not use.
  std::vector<Tensor> gradients{};
};

/// The loss is multiplied by `scale`, if there is one, before the way back.
Pass forward_and_back(const StepParts& parts, const Tensor& x, const Tensor& target,
                      const Variable* scale = nullptr) {
  GradientTape tape(parts.site);
  const Tensor prediction = parts.apply_model(x);
  require_own_parameters(parts, prediction);
  Pass pass{.numbers = {parts.loss(prediction, target)}};
  require_number(pass.numbers.front(), "the loss", parts.site);
  Tensor loss = pass.numbers.front();
  if (scale != nullptr) {
    loss = mul({loss, parts.site}, {scale->value(parts.site), parts.site});
  }
  {
    const auto pause = tape.stop_recording();
    parts.add_metrics(prediction, target, pass.numbers);
  }
  const std::vector<bool> frozen = frozen_parameters(parts);
  std::vector<Variable> sources;
  for (std::size_t i = 0; i < frozen.size(); ++i) {
    if (!frozen[i]) sources.push_back(parts.optimizer.parameters()[i].variable);
  }
  const CategoryScope category(Category::gradient);
  std::vector<Tensor> found =
      tape.gradient(loss, sources, {.unconnected = Unconnected::none}, parts.site);
  std::size_t next = 0;
  for (const bool is_frozen : frozen) {
    pass.gradients.push_back(is_frozen ? Tensor() : std::move(found[next++]));
  }
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
      : model_(parts.model),
        step_(compiled(
            parts, "training step", 0,
            std::function([parts](const Tensor& x, const Tensor& target, const std::string&) {
              Pass pass = forward_and_back(parts, x, target);
              parts.optimizer.apply(clipped(parts, std::move(pass.gradients)), parts.site);
              return pass.numbers;
            }))) {}

  Scores run(const Tensor& x, const Tensor& target) override {
    return scores_of(step_(x, target, model_.modes()));
  }
  Plan plan(const Tensor& x, const Tensor& target) const override {
    return step_.plan(x, target, model_.modes());
  }
  std::vector<NamedVariable> state() const override { return {}; }

 private:
  const Layer& model_;
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
        sums_(make_sums(parts)),
        is_used_(sums_.size(), false),
        collect_(
            compiled(parts, "gradients", bytes_of(state()),
                     std::function([this](const Tensor& x, const Tensor& target,
                                          const std::string&) { return collect(x, target); }))),
        is_finite_(function(std::function([this] { return are_finite(); }))),
        update_(
            compiled(parts, "update", bytes_of(state()), std::function([this](const std::string&) {
                       update();
                       return std::vector<Tensor>();
                     }))) {}

  Scores run(const Tensor& x, const Tensor& target) override {
    const Scores scores = scores_of(collect_(x, target, parts_.model.modes()));
    const double collected = number(collected_) + 1;
    if (collected < parts_.options.accumulate) {
      set(collected_, collected);
      return scores;
    }
    if (!parts_.options.loss_scale || is_finite_().item<bool>()) {
      update_(update_key());
      grow_scale();
    } else {
      for (const Variable& sum : sums_) sum.assign(zeros(sum.shape(), sum.dtype()));
      set(scale_, number(scale_) / 2);
      set(good_steps_, 0);
    }
    set(collected_, 0);
    return scores;
  }

  Plan plan(const Tensor& x, const Tensor& target) const override {
    Plan largest = collect_.plan(x, target, parts_.model.modes());
    const auto compare = [&largest](Plan other) {
      const std::int64_t constants = largest.constants + other.constants;
      if (other.peak > largest.peak) largest = std::move(other);
      largest.constants = constants;  // of all, between their runs
    };
    compare(update_.plan(update_key()));
    if (parts_.options.loss_scale) compare(is_finite_.plan());
    return largest;
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

  static std::vector<Variable> make_sums(const StepParts& parts) {
    const CategoryScope category(Category::gradient);
    std::vector<Variable> sums;
    for (const NamedVariable& parameter : parts.optimizer.parameters()) {
      const bool is_double = parameter.variable.dtype() == DType::float64;
      sums.emplace_back(
          zeros(parameter.variable.shape(), is_double ? DType::float64 : DType::float32),
          "sum/" + parameter.name, false);
    }
    return sums;
  }

  /// What a trace of update() holds for.
  std::string update_key() const {
    std::string key = parts_.model.modes();
    for (const bool is_used : is_used_) key += is_used ? '+' : '-';
    return key;
  }

  // These are traced.

  std::vector<Tensor> collect(const Tensor& x, const Tensor& target) const {
    Pass pass = forward_and_back(parts_, x, target, &scale_);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (!pass.gradients[i].defined()) continue;
      is_used_[i] = true;
      sums_[i].assign_add(cast(std::move(pass.gradients[i]), sums_[i].dtype()));
    }
    return pass.numbers;
  }
  Tensor are_finite() const {
    Tensor finite = full({}, true, DType::boolean);
    for (const Variable& sum : sums_) finite = logical_and(finite, all(isfinite(sum.value())));
    return finite;
  }
  /// And begins anew.
  void update() const {
    const Tensor divisor = scale_.value() * parts_.options.accumulate;
    const std::vector<bool> frozen = frozen_parameters(parts_);
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const bool has_gradient = is_used_[i] && !frozen[i];
      gradients.push_back(has_gradient ? sums_[i].value() / divisor : Tensor());
    }
    parts_.optimizer.apply(clipped(parts_, std::move(gradients)), parts_.site);
    for (const Variable& sum : sums_) sum.assign(zeros(sum.shape(), sum.dtype()));
  }

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
  mutable std::vector<bool> is_used_;  // of each sum, whether the loss of any trace depends on it
  BatchFunction collect_;
  Function<std::function<Tensor()>> is_finite_;
  Function<std::function<std::vector<Tensor>(const std::string& modes)>> update_;
};

}  // namespace

Tensor StepParts::apply_model(const Tensor& x) const {
  const Layer::TrainerCall call;
  return model(x, site);
}

void StepParts::add_metrics(const Tensor& prediction, const Tensor& target,
                            std::vector<Tensor>& numbers) const {
  for (const Metric& metric : options.metrics) {
    numbers.push_back(metric.value(prediction, target));
    require_number(numbers.back(), fmt::format("the metric \"{}\"", metric.name), site);
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
