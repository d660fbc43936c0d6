#include "tenure/nn/trainer.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "tenure/graph/function.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/threads/arguments.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/step_checks.h"
#include "tenure/nn/steps.h"
#include "tenure/ops/autocast.h"
#include "tenure/planner/remat.h"

namespace tenure::nn {
namespace {

std::int64_t tensor_bytes(const Tensors& tensors) {
  std::int64_t bytes = 0;
  for (const Tensor& tensor : tensors) {
    bytes += count(tensor.shape()) * static_cast<std::int64_t>(size_of(tensor.dtype()));
  }
  return bytes;
}

void require_all_data(const Tensors& x, const Tensors& targets, const char* user, Site site) {
  if (x.empty() || targets.empty()) throw ValueError("a batch has an input and a target, at least");
  for (const Tensor& tensor : x) require_data(tensor, user, site);
  for (const Tensor& tensor : targets) require_data(tensor, user, site);
}

/// The plan of a step. A refusal speaks of the trainer's budget, not of what is left of it for the
/// step.
Plan plan_of(const Steps& steps, const std::optional<std::int64_t>& budget, const Tensors& x,
             const Tensors& target, const char* call, Site site) {
  return mem::in_call(call, site, [&] {
    try {
      return steps.plan(x, target);
    } catch (const planner::BudgetError& error) {
      const std::int64_t kept = budget.value_or(error.budget()) - error.budget();
      throw planner::BudgetError(error.budget() + kept, error.least() + kept, error.bound() + kept,
                                 error.is_final());
    }
  });
}

}  // namespace

struct Trainer::Compiled {
  std::unique_ptr<Steps> steps;
  BatchFunction score;
  Function<std::function<Tensors(const Tensors&, const std::string&)>> predict;
};

Trainer::Trainer(const Layer& model, Loss loss, Optimizer& optimizer, TrainerOptions options,
                 Site site)
    : model_(model),
      optimizer_(optimizer),
      loss_(std::move(loss)),
      options_(std::move(options)),
      removals_(mem::in_call("Trainer", site, [&] { return model.removals(); })) {
  mem::in_call("Trainer", site, [&] { require_options(); });
  if (options_.precision == DType::float16 && !options_.loss_scale) {
    options_.loss_scale = LossScale();
  }
  // Parts of it are for this and that: less than nothing has none.
  if (options_.budget) options_.budget = std::max<std::int64_t>(*options_.budget, 0);
  const StepParts parts{model_, loss_, optimizer_, options_, site};
  compiled_ = std::make_unique<Compiled>(Compiled{
      .steps = make_steps(parts),
      .score = function(
          std::function([parts](const Tensors& x, const Tensors& target, const std::string&) {
            const Tensors prediction = parts.apply_model(x);
            Tensors numbers{parts.apply_loss(prediction, target)};
            require_number(numbers.front(), "the loss", parts.site);
            parts.add_metrics(prediction, target, numbers);
            return numbers;
          }),
          {.name = "score", .warn = warn_once()}, parts.function_site()),
      .predict = function(std::function([parts](const Tensors& x, const std::string&) {
                            return parts.in_full(parts.apply_model(x));
                          }),
                          {.name = "predict", .warn = warn_once()}, parts.function_site())});
}

Trainer::~Trainer() = default;

void Trainer::require_options() const {
  mem::require_least("Trainer", {{"accumulate", options_.accumulate},
                                 {"inputs", options_.inputs},
                                 {"effort", options_.effort}});
  mem::require_in(mem::kAtLeastZero, "Trainer", {{"recompute", options_.recompute}});
  if (options_.clip_norm)
    mem::require_in(mem::kAboveZero, "Trainer", {{"clip_norm", *options_.clip_norm}});
  if (const auto& scale = options_.loss_scale) {
    mem::require_least("Trainer", {{"growth_interval", scale->growth_interval}});
    if (!(scale->initial >= LossScale::kLeast && scale->initial <= LossScale::kMost)) {
      throw ValueError(
          fmt::format("Trainer: a loss scale of {}; it is positive, and no more than 2^100 or less "
                      "than 2^-100",
                      scale->initial));
    }
  }
  static_cast<void>(Autocast(options_.precision));
  if (!loss_) throw ValueError("Trainer: the loss is no function");
  for (const Metric& metric : options_.metrics) {
    if (!metric.value) {
      throw ValueError(fmt::format("Trainer: the metric \"{}\" has no function", metric.name));
    }
  }
}

Device Trainer::device() const { return optimizer_.parameters().front().variable.device(); }

Tensors Trainer::at_model(Tensors tensors, Site site) const {
  for (Tensor& tensor : tensors) {
    if (tensor.defined()) tensor = tensor.to(device(), site);
  }
  return tensors;
}

Scores Trainer::step(const Tensor& x, const Tensor& target, Site site) {
  return step(Tensors{x}, Tensors{target}, site);
}

Scores Trainer::step(const Tensors& x, const Tensors& targets, Site site) {
  return step_ahead(x, targets, site).get(site);
}

LateScores Trainer::step_ahead(const Tensor& x, const Tensor& target, Site site) {
  return step_ahead(Tensors{x}, Tensors{target}, site);
}

LateScores Trainer::step_ahead(const Tensors& given_x, const Tensors& given_targets,
                               Site site) try {
  require_all_data(given_x, given_targets, "step", site);
  const Tensors x = at_model(given_x, site);
  const Tensors targets = at_model(given_targets, site);
  set_training(true);
  std::optional<Budget> guard;
  if (options_.budget) {
    // Compiled before: what that takes is no part of the step.
    static_cast<void>(plan_of(*compiled_->steps, options_.budget, x, targets, "step", site));
    const std::int64_t left =
        *options_.budget - resident_bytes() - tensor_bytes(x) - tensor_bytes(targets);
    guard.emplace("training step", static_cast<std::size_t>(std::max<std::int64_t>(left, 0)),
                  x.front().device());
  }
  return mem::or_out_of_memory([&] { return compiled_->steps->run(x, targets); });
} catch (Error& error) {
  mem::name_call(error, "step", site);
  throw;
}

Scores Trainer::score(const Tensor& x, const Tensor& target, Site site) const {
  return score(Tensors{x}, Tensors{target}, site);
}

Scores Trainer::score(const Tensors& x, const Tensors& targets, Site site) const try {
  require_all_data(x, targets, "score", site);
  set_training(false);
  Scores scores{.metrics = std::vector<double>(options_.metrics.size())};
  read_scores(compiled_->score(at_model(x, site), at_model(targets, site), model_.modes()), scores,
              site);
  return scores;
} catch (Error& error) {
  mem::name_call(error, "score", site);
  throw;
}

Tensor Trainer::predict(const Tensor& x, Site site) const {
  Tensors made = predict(Tensors{x}, site);
  if (made.size() == 1) return std::move(made.front());
  return mem::in_call("predict", site, [&]() -> Tensor {
    throw ValueError(fmt::format("{} gives {} outputs; predict() of a vector of inputs gives all",
                                 model_.kind(), made.size()));
  });
}

Tensors Trainer::predict(const Tensors& x, Site site) const {
  return mem::in_call("predict", site, [&] {
    set_training(false);
    return compiled_->predict(at_model(x, site), model_.modes());
  });
}

StepPlan Trainer::plan(const Tensor& x, const Tensor& target, Site site) const {
  return plan(Tensors{x}, Tensors{target}, site);
}

StepPlan Trainer::plan(const Tensors& x, const Tensors& targets, Site site) const {
  mem::in_call("plan", site, [&] { set_training(true); });
  return {.plan = plan_of(*compiled_->steps, options_.budget, specs_on(device(), x, site),
                          specs_on(device(), targets, site), "plan", site),
          .parameters = bytes_of(model_.variables()),
          .optimizer = bytes_of(optimizer_.state()) + bytes_of(compiled_->steps->state()),
          .batch = tensor_bytes(x) + tensor_bytes(targets)};
}

std::vector<NamedVariable> Trainer::variables() const {
  std::vector<NamedVariable> all;
  const auto add = [&all](const char* prefix, const std::vector<NamedVariable>& variables) {
    for (const NamedVariable& own : variables) all.push_back({prefix + own.name, own.variable});
  };
  add("model/", model_.variables());
  add("optimizer/", optimizer_.state());
  add("trainer/", compiled_->steps->state());
  return all;
}

void Trainer::to(Device device, Site site) { move_to(variables(), device, site); }

std::int64_t Trainer::resident_bytes() const { return bytes_of(variables()); }

void Trainer::set_training(bool on) const {
  if (model_.removals() != removals_) {
    throw ValueError(
        fmt::format("a part of {} was taken out or replaced after the trainer was made: make an "
                    "optimizer and a trainer for it as it is now",
                    model_.kind()));
  }
  if (model_.is_training() != on) model_.train(on);
}

}  // namespace tenure::nn
