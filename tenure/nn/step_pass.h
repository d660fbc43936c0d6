#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "tenure/nn/steps.h"

// What all ways to make a step of a batch are built from.

namespace tenure::nn {

/// What the model, the optimizer and `kept` bytes leave of the trainer's budget.
std::optional<std::int64_t> budget_beside(const StepParts& parts, std::int64_t kept);

/// A function of a step, as the trainer's options want it.
template <class F>
Function<F> compiled(const StepParts& parts, const char* name, std::optional<std::int64_t> budget,
                     F f) {
  return function(std::move(f),
                  {.name = name,
                   .warn = warn_once(),
                   .budget = budget,
                   .recompute = parts.options.recompute,
                   .effort = parts.options.effort,
                   .check_numbers = parts.options.check_numbers},
                  parts.function_site());
}

/// Of each parameter of the optimizer, whether a frozen layer keeps it as it is.
std::vector<bool> frozen_parameters(const StepParts& parts);

/// What goes to the front and what comes back.
struct Pass {
  std::vector<Tensor> numbers{};
  /// Of the optimizer's parameters; none of frozen ones and of those that the loss does not use.
  std::vector<Tensor> gradients{};
};

/// The loss is multiplied by `scale`, if there is one, before the way back.
Pass forward_and_back(const StepParts& parts, const Tensors& x, const Tensors& target,
                      const Variable* scale = nullptr);

/// As the trainer's options want it.
std::vector<Tensor> clipped(const StepParts& parts, std::vector<Tensor> gradients);

}  // namespace tenure::nn
