#pragma once

#include <cstdint>
#include <span>

#include "tenure/kernels/view.h"

namespace tenure::kernels {

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

/// How many tensors the rule changes: the parameter and its state.
int tensors_of(UpdateRule::Kind kind);

/// One pass over memory: out[i] = in[i] changed, where the last of `in` is the gradient. All are
/// contiguous, of one shape and any floating types; out[i] has the type of in[i] and may be in its
/// memory. Computed in float32, in float64 if the parameter is of that type.
void update(const UpdateRule& rule, std::span<const View> in, std::span<const View> out);

}  // namespace tenure::kernels
