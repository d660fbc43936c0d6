#include "tenure/nn/collected_step.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include "tenure/graph/function.h"
#include "tenure/graph/trace/state.h"
#include "tenure/memory/default_device.h"
#include "tenure/memory/scope.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/step_pass.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"
#include "tenure/planner/remat.h"

namespace tenure::nn {
namespace {

/// A batch is one run, so that it is done as a whole or not at all.
class CollectedStep final : public Steps {
 public:
  explicit CollectedStep(const StepParts& parts)
      : parts_(parts),
        scale_(scalar(parts, "scale",
                      parts.options.loss_scale ? parts.options.loss_scale->initial : 1)),
        collected_(scalar(parts, "collected", 0)),
        good_steps_(scalar(parts, "good_steps", 0)),
        sums_(make_sums(parts)),
        is_used_(sums_.size(), false) {}

  LateScores run(const Tensors& x, const Tensors& target) override {
    const Functions& functions = functions_for(x, target);
    LateScores scores = room_for_scores(parts_.options);
    const bool is_last = collected_.value(parts_.site).item<float>() + 1 >=
                         static_cast<float>(parts_.options.accumulate);
    const BatchFunction& part = is_last ? functions.step : functions.collect;
    set(scores, part(x, target, key_for(functions, part)), parts_.site);
    return scores;
  }

  Plan plan(const Tensors& x, const Tensors& target) const override {
    Plan largest;
    std::optional<planner::BudgetError> refusal;  // of the trainer's budget, with what all need
    const Functions& functions = functions_for(x, target);
    for (const BatchFunction* const part : functions.all(parts_)) {
      try {
        Plan other = part->plan(x, target, key_for(functions, *part));
        const std::int64_t constants = largest.constants + other.constants;
        const std::int64_t packed = largest.packed + other.packed;
        if (largest.steps.empty() || other.peak > largest.peak) largest = std::move(other);
        largest.constants = constants;  // of all, between their runs
        largest.packed = packed;
      } catch (const planner::BudgetError& error) {
        const std::int64_t kept = *parts_.options.budget - error.budget();
        const std::int64_t least = error.least() + kept;
        const std::int64_t bound = error.bound() + kept;
        refusal.emplace(*parts_.options.budget, refusal ? std::max(least, refusal->least()) : least,
                        refusal ? std::max(bound, refusal->bound()) : bound);
      }
    }
    if (refusal) throw planner::BudgetError(*refusal);
    return largest;
  }

  std::vector<NamedVariable> state() const override {
    std::vector<NamedVariable> all{
        {"scale", scale_}, {"collected", collected_}, {"good_steps", good_steps_}};
    for (const Variable& sum : sums_) all.push_back({sum.name(), sum});
    return all;
  }

 private:
  struct Functions {
    BatchFunction collect;
    BatchFunction step;  ///< the same with the last batch, then the update

    std::vector<const BatchFunction*> all(const StepParts& parts) const {
      if (parts.options.accumulate == 1) return {&step};
      return {&collect, &step};
    }
  };
  using Budgets = std::array<std::optional<std::int64_t>, 2>;  // of collect and of step

  std::unique_ptr<const Functions> make_functions(const Budgets& budgets) const {
    return std::make_unique<const Functions>(Functions{
        compiled(parts_, "gradients", budgets[0],
                 std::function([this](const Tensors& x, const Tensors& target, const std::string&) {
                   return collect(x, target);
                 })),
        compiled(parts_, "training step", budgets[1],
                 std::function([this](const Tensors& x, const Tensors& target, const std::string&) {
                   return step(x, target);
                 }))});
  }

  const Functions& functions_for(const Tensors& x, const Tensors& target) const {
    const Budgets budgets = parts_.options.budget ? budgets_for(x, target) : Budgets();
    std::unique_ptr<const Functions>& functions = functions_[budgets];
    if (functions == nullptr) functions = make_functions(budgets);
    return *functions;
  }

  /// Each leaves room for the constants that the other holds between its runs. Those do not depend
  /// on budgets.
  const Budgets& budgets_for(const Tensors& x, const Tensors& target) const {
    const std::string modes = parts_.model.modes();
    std::vector<std::int64_t> batch;
    for (const Tensors* const tensors : {&x, &target}) {
      batch.push_back(static_cast<std::int64_t>(tensors->size()));
      for (const Tensor& tensor : *tensors) {
        batch.push_back(static_cast<std::int64_t>(tensor.dtype()));
        batch.push_back(tensor.rank());
        batch.insert(batch.end(), tensor.shape().begin(), tensor.shape().end());
      }
    }
    const auto [known, is_new] = budgets_.try_emplace({std::move(batch), modes});
    if (!is_new) return known->second;
    try {
      const auto plain = make_functions({});
      std::array<std::int64_t, 2> constants{};
      for (const BatchFunction* const part : plain->all(parts_)) {
        constants[part == &plain->collect ? 0 : 1] =
            part->plan(x, target, key_for(*plain, *part)).constants;
      }
      const std::int64_t kept =
          std::accumulate(constants.begin(), constants.end(), bytes_of(state()));
      for (std::size_t i = 0; i < constants.size(); ++i) {
        known->second[i] = budget_beside(parts_, kept - constants[i]);
      }
    } catch (...) {
      budgets_.erase(known);
      throw;
    }
    return known->second;
  }

  static Variable scalar(const StepParts& parts, const char* name, double value) {
    const auto& parameters = parts.optimizer.parameters();
    const DeviceScope device(parameters.empty() ? default_device()
                                                : parameters.front().variable.device());
    return Variable({full({}, value, DType::float32, parts.site), parts.site}, name, false);
  }

  static std::vector<Variable> make_sums(const StepParts& parts) {
    const CategoryScope category(Category::gradient);
    std::vector<Variable> sums;
    for (const NamedVariable& parameter : parts.optimizer.parameters()) {
      const bool is_double = parameter.variable.dtype() == DType::float64;
      const DType dtype = is_double ? DType::float64 : DType::float32;
      sums.emplace_back(Operand(zeros_for(parameter.variable, dtype, parts.site), parts.site),
                        "sum/" + parameter.name, false);
    }
    return sums;
  }

  /// What a trace of the part holds for.
  std::string key_for(const Functions& functions, const BatchFunction& part) const {
    std::string key = parts_.model.modes();
    if (&part == &functions.collect) return key;
    for (const bool is_used : is_used_) key += is_used ? '+' : '-';
    return key;
  }

  // These are traced.

  /// Adds a batch, in the memory of the sums. Of the first one after a step, what they hold is of
  /// the step before.
  Pass add_batch(const Tensors& x, const Tensors& target) const {
    Pass pass = forward_and_back(parts_, x, target, &scale_);
    const Site at = parts_.site;
    const Tensor is_first = equal({collected_.value(at), at}, 0);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const Variable& sum = sums_[i];
      Tensor total = where({is_first, at}, {0, at}, {sum.value(at), at});
      if (pass.gradients[i].defined()) {
        const Tensor own = cast({pass.gradients[i], at}, sum.dtype());
        total = add({total, at}, {own, at});
      }
      sum.assign({std::move(total), at});
    }
    return pass;
  }

  std::vector<Tensor> collect(const Tensors& x, const Tensors& target) const {
    Pass pass = add_batch(x, target);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      if (pass.gradients[i].defined()) is_used_[i] = true;
    }
    collected_.assign_add({1, parts_.site});
    return pass.numbers;
  }

  std::vector<Tensor> step(const Tensors& x, const Tensors& target) const {
    Pass pass = add_batch(x, target);
    const Site at = parts_.site;
    const Tensor divisor = mul({scale_.value(at), at}, {parts_.options.accumulate, at});
    const Tensor factor = div({1, at}, {divisor, at});
    const std::vector<bool> frozen = frozen_parameters(parts_);
    std::vector<Tensor> gradients;
    Tensor finite = full({}, true, DType::boolean, at);
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      const bool has_gradient = (is_used_[i] || pass.gradients[i].defined()) && !frozen[i];
      const Tensor sum = sums_[i].value(at);
      gradients.push_back(has_gradient ? div({sum, at}, {divisor, at}) : Tensor());
      // Not of the quotient: gradients would all be kept until the last is looked at.
      if (has_gradient) {
        const Tensor scaled = mul({sum, at}, {factor, at});
        finite = logical_and({finite, at}, {all({isfinite({scaled, at}), at}), at});
      }
    }
    pass.gradients.clear();
    if (parts_.options.loss_scale) {
      update_if(finite, std::move(gradients));
    } else {
      parts_.optimizer.apply(clipped(parts_, std::move(gradients)), parts_.site);
    }
    collected_.assign({zeros({}, DType::float32, at), at});
    return pass.numbers;
  }

  void update_if(const Tensor& finite, std::vector<Tensor> gradients) const {
    const Site at = parts_.site;
    const Tensor overflows = logical_not({finite, at});
    std::vector<NamedVariable> changed = parts_.optimizer.state();
    const auto& parameters = parts_.optimizer.parameters();
    changed.insert(changed.end(), parameters.begin(), parameters.end());
    std::vector<Tensor> before;
    for (const NamedVariable& own : changed) before.push_back(own.variable.value(at));
    parts_.optimizer.apply(clipped(parts_, std::move(gradients)), parts_.site);
    for (std::size_t i = 0; i < changed.size(); ++i) {
      const Variable& variable = changed[i].variable;
      const Tensor after = variable.value(at);
      if (graph::look_up(after)->value == graph::look_up(before[i])->value) continue;
      // In the memory of the first.
      variable.assign({where({overflows, at}, {before[i], at}, {after, at}), at});
    }
    follow(finite);
  }

  /// Halves or doubles the scale.
  void follow(const Tensor& finite) const {
    const Site at = parts_.site;
    const Tensor scale = scale_.value(at);
    const Tensor good = add({good_steps_.value(at), at}, 1);
    const Tensor grows = greater_equal({good, at}, parts_.options.loss_scale->growth_interval);
    const Tensor larger = minimum({mul({scale, at}, 2), at}, {LossScale::kMost, at});
    const Tensor smaller = maximum({div({scale, at}, 2), at}, {LossScale::kLeast, at});
    const Tensor more = where({grows, at}, {larger, at}, {scale, at});
    scale_.assign({where({finite, at}, {more, at}, {smaller, at}), at});
    const Tensor is_good = logical_and({finite, at}, {logical_not({grows, at}), at});
    good_steps_.assign({where({is_good, at}, {good, at}, {0, at}), at});
  }

  StepParts parts_;
  Variable scale_;
  Variable collected_;   // batches since the last step
  Variable good_steps_;  // since the scale last changed
  std::vector<Variable> sums_;
  mutable std::vector<bool> is_used_;  // of each sum, whether a batch before the last may add to it
  mutable std::map<Budgets, std::unique_ptr<const Functions>> functions_;
  mutable std::map<std::pair<std::vector<std::int64_t>, std::string>, Budgets> budgets_;
};

}  // namespace

std::unique_ptr<Steps> make_collected_step(const StepParts& parts) {
  return std::make_unique<CollectedStep>(parts);
}

}  // namespace tenure::nn
