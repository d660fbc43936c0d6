#pragma once

#include <array>

#include "tenure/ops/core/operand.h"

// Optimizer updates, each in one pass over memory. They return the changed parameter and state;
// what is moved in is changed in place:
//
//   auto [w1, m1, v1] = adam_update(std::move(w), std::move(m), std::move(v), g, rate, step);
//
// Parameters and gradients have any floating type. State is float32, of float64 parameters float64;
// 16-bit parameters are changed in float32 and rounded. Rate and step are tensors without
// dimensions or numbers, so that one traced function serves all steps. Defined in
// nn/optimizer.cpp.

namespace tenure {

struct SgdOptions {
  double momentum = 0;  ///< of sgd_momentum_update
  double dampening = 0;
  bool nesterov = false;
  double weight_decay = 0;
};
/// w - rate (g + weight_decay w)
Tensor sgd_update(const Operand& parameter, const Operand& gradient, const Operand& rate,
                  const SgdOptions& options = {});
/// The same with a velocity: v = momentum v + (1 - dampening) g, w - rate v.
std::array<Tensor, 2> sgd_momentum_update(const Operand& parameter, const Operand& velocity,
                                          const Operand& gradient, const Operand& rate,
                                          const SgdOptions& options = {.momentum = 0.9});

struct AdamOptions {
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  double weight_decay = 0;
  bool decoupled = false;  ///< AdamW: the decay is w - rate weight_decay w
  bool amsgrad = false;    ///< of nn::Adam: by the largest mean square that there was
};
/// Adam with corrected bias; `step` counts from 1.
std::array<Tensor, 3> adam_update(const Operand& parameter, const Operand& mean,
                                  const Operand& square, const Operand& gradient,
                                  const Operand& rate, const Operand& step,
                                  const AdamOptions& options = {});

struct RmspropOptions {
  double alpha = 0.99;
  double epsilon = 1e-8;
  double weight_decay = 0;
  double momentum = 0;    ///< of nn::Rmsprop, as `centered`
  bool centered = false;  ///< by the variance instead of the mean square
};
/// s = alpha s + (1 - alpha) g^2, w - rate g / (sqrt(s) + epsilon)
std::array<Tensor, 2> rmsprop_update(const Operand& parameter, const Operand& square,
                                     const Operand& gradient, const Operand& rate,
                                     const RmspropOptions& options = {});

struct AdagradOptions {
  double epsilon = 1e-10;
  double weight_decay = 0;
};
/// s = s + g^2, w - rate g / (sqrt(s) + epsilon)
std::array<Tensor, 2> adagrad_update(const Operand& parameter, const Operand& sum,
                                     const Operand& gradient, const Operand& rate,
                                     const AdagradOptions& options = {});

struct LionOptions {
  double beta1 = 0.9;
  double beta2 = 0.99;
  double weight_decay = 0;
};
/// w - rate (sign(beta1 m + (1 - beta1) g) + weight_decay w), m = beta2 m + (1 - beta2) g
std::array<Tensor, 2> lion_update(const Operand& parameter, const Operand& mean,
                                  const Operand& gradient, const Operand& rate,
                                  const LionOptions& options = {});

}  // namespace tenure
