#pragma once

#include <cstdint>

#include "tenure/ops/core/attributes.h"

namespace tenure::ops {

/// Which rule changes a parameter, and its numbers. Fields that a rule does not name are not read.
struct UpdateRule {
  enum class Kind : std::uint8_t {
    sgd,       ///< parameter; rate, decay
    momentum,  ///< parameter, velocity; rate, decay, first (momentum), dampening, nesterov
    adam,      ///< parameter, mean, square; rate, decay, decoupled, first, second, epsilon, step
    rmsprop,   ///< parameter, square; rate, decay, second, epsilon
    adagrad,   ///< parameter, sum; rate, decay, epsilon
    lion,      ///< parameter, mean; rate, decay, first, second
  };
  Kind kind = Kind::sgd;
  double rate = 0;
  double decay = 0;
  bool decoupled = false;  ///< the decay does not go through the gradient
  double first = 0;
  double second = 0;
  double dampening = 0;
  bool nesterov = false;
  double epsilon = 0;
  double step = 1;  ///< counts from 1
};

/// How many tensors the rule changes: the parameter and its state. A call has them first, then the
/// gradient and the rate, and of adam the step.
constexpr int tensors_of(UpdateRule::Kind kind) {
  return kind == UpdateRule::Kind::sgd ? 1 : kind == UpdateRule::Kind::adam ? 3 : 2;
}

// The rules that attributes stand for, but for rate and step, which are inputs.

inline UpdateRule sgd_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::sgd, .decay = a.number(0)};
}
inline UpdateRule momentum_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::momentum,
          .decay = a.number(3),
          .first = a.number(0),
          .dampening = a.number(1),
          .nesterov = a.flag(2)};
}
inline UpdateRule adam_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::adam,
          .decay = a.number(3),
          .decoupled = a.flag(4),
          .first = a.number(0),
          .second = a.number(1),
          .epsilon = a.number(2)};
}
inline UpdateRule rmsprop_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::rmsprop,
          .decay = a.number(2),
          .second = a.number(0),
          .epsilon = a.number(1)};
}
inline UpdateRule adagrad_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::adagrad, .decay = a.number(1), .epsilon = a.number(0)};
}
inline UpdateRule lion_rule(const Attributes& a) {
  return {.kind = UpdateRule::Kind::lion,
          .decay = a.number(2),
          .decoupled = true,
          .first = a.number(0),
          .second = a.number(1)};
}

}  // namespace tenure::ops
