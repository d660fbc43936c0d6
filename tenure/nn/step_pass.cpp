#include "tenure/nn/step_pass.h"

#include <set>

#include "tenure/autograd/tape.h"
#include "tenure/memory/scope.h"
#include "tenure/nn/clip.h"
#include "tenure/nn/layer_state.h"
#include "tenure/nn/step_checks.h"
#include "tenure/ops/elementwise.h"

namespace tenure::nn {

std::optional<std::int64_t> budget_beside(const StepParts& parts, std::int64_t kept) {
  std::optional<std::int64_t> budget = parts.options.budget;
  if (budget) {
    *budget -= bytes_of(parts.model.variables()) + bytes_of(parts.optimizer.state()) + kept;
  }
  return budget;
}

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

Pass forward_and_back(const StepParts& parts, const Tensors& x, const Tensors& target,
                      const Variable* scale) {
  GradientTape tape(parts.site);
  const Tensors prediction = parts.apply_model(x);
  require_own_parameters(parts, prediction);
  Pass pass{.numbers = {parts.apply_loss(prediction, target)}};
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
  require_use(found, parts.site);
  std::size_t next = 0;
  for (const bool is_frozen : frozen) {
    pass.gradients.push_back(is_frozen ? Tensor() : std::move(found[next++]));
  }
  return pass;
}

std::vector<Tensor> clipped(const StepParts& parts, std::vector<Tensor> gradients) {
  if (!parts.options.clip_norm) return gradients;
  const NameScope name("clip");
  const CategoryScope category(Category::gradient);
  return clip_by_global_norm(std::move(gradients), *parts.options.clip_norm, parts.site);
}

}  // namespace tenure::nn
