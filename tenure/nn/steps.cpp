#include "tenure/nn/steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "tenure/base/object_mutex.h"
#include "tenure/base/user_site.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/call.h"
#include "tenure/nn/collected_step.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/step_checks.h"
#include "tenure/nn/step_pass.h"
#include "tenure/ops/autocast.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::nn {
namespace {

/// Forward, backward and update as one function.
class WholeStep final : public Steps {
 public:
  explicit WholeStep(const StepParts& parts)
      : model_(parts.model),
        options_(parts.options),
        site_(parts.site),
        step_(compiled(
            parts, "training step", budget_beside(parts, 0),
            std::function([parts](const Tensors& x, const Tensors& target, const std::string&) {
              Pass pass = forward_and_back(parts, x, target);
              parts.optimizer.apply(clipped(parts, std::move(pass.gradients)), parts.site);
              return pass.numbers;
            }))) {}

  LateScores run(const Tensors& x, const Tensors& target) override {
    LateScores scores = room_for_scores(options_);
    set(scores, step_(x, target, model_.modes()), site_);
    return scores;
  }
  Plan plan(const Tensors& x, const Tensors& target) const override {
    return step_.plan(x, target, model_.modes());
  }
  std::vector<NamedVariable> state() const override { return {}; }

 private:
  const Layer& model_;
  const TrainerOptions& options_;
  Site site_;
  BatchFunction step_;
};

}  // namespace

std::function<void(const std::string&)> warn_once() {
  return [is_told = false](const std::string& text) mutable {
    if (std::exchange(is_told, true)) return;
    std::fputs(
        (text + "; pad batches to a few sizes, of which each is a plan of its own\n").c_str(),
        stderr);
  };
}

Tensors StepParts::apply_model(const Tensors& x) const {
  const Layer::TrainerCall call;
  const Autocast autocast(options.precision);
  return model.call(x, site);
}

Tensors StepParts::in_full(Tensors prediction) const {
  for (Tensor& one : prediction) {
    if (options.precision == DType::float32 || !one.defined()) continue;
    if (one.dtype() != options.precision) continue;
    one = cast({std::move(one), site}, DType::float32);
  }
  return prediction;
}

Tensor StepParts::apply_loss(const Tensors& prediction, const Tensors& target) const {
  const NameScope name("loss");
  const Autocast autocast(options.precision);
  return std::move(in_full({loss(prediction, target)}).front());
}

Site StepParts::function_site() const {
  return user_site(site).line() != 0 ? site : optimizer.state().front().variable.created();
}

void StepParts::add_metrics(const Tensors& prediction, const Tensors& target,
                            Tensors& numbers) const {
  if (options.metrics.empty()) return;
  const NameScope name("metrics");
  const Tensors full = in_full(prediction);
  for (const Metric& metric : options.metrics) {
    numbers.push_back(metric.value(full, target));
    require_number(numbers.back(), fmt::format("the metric \"{}\"", metric.name), site);
  }
}

std::unique_ptr<Steps> make_steps(const StepParts& parts) {
  if (parts.options.accumulate == 1 && !parts.options.loss_scale) {
    return std::make_unique<WholeStep>(parts);
  }
  return make_collected_step(parts);
}

struct LateScores::State {
  ObjectMutex mutex;
  std::vector<Tensor> numbers;  ///< none: they were read
  Scores scores;                ///< has room for them, so that reading cannot fail
};

LateScores::LateScores(Scores room) : state_(std::make_shared<State>()) {
  state_->scores = std::move(room);
}

const Scores& LateScores::get(Site site) const {
  return mem::in_call("LateScores::get", site, [&]() -> const Scores& {
    const std::lock_guard lock(state_->mutex);
    if (!state_->numbers.empty()) read_scores(state_->numbers, state_->scores, site);
    state_->numbers.clear();
    return state_->scores;
  });
}

LateScores Steps::room_for_scores(const TrainerOptions& options) {
  return LateScores({.metrics = std::vector<double>(options.metrics.size())});
}

void Steps::set(const LateScores& scores, std::vector<Tensor> numbers, Site site) {
  LateScores::State& state = *scores.state_;
  const bool are_there =
      std::ranges::all_of(numbers, [](const Tensor& number) { return number.device() == cpu; });
  if (are_there) {
    read_scores(numbers, state.scores, site);
    return;
  }
  for (const Tensor& number : numbers) static_cast<void>(keep(number, site));
  state.numbers = std::move(numbers);
}

void read_scores(const std::vector<Tensor>& numbers, Scores& scores, Site site) {
  scores.loss = numbers.front().item<float>(site);
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    scores.metrics[i - 1] = numbers[i].item<float>(site);
  }
}

}  // namespace tenure::nn
