// What updates of optimizers do to an element: the bodies of updates-inl.h, generic in the kind of
// value, and in the update, which has `options` and `rate`. Devices that compile sources of their
// own read this file alone: it includes nothing else of Tenure.
#if defined(TENURE_OPS_NN_UPDATE_BODIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#undef TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#else
#define TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#endif

#include <cmath>

#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

template <class V>
TENURE_BODY V number(double x) {
  return V(static_cast<typename V::Scalar>(x));
}

/// The gradient, and with it a decay of the parameter.
template <class V>
TENURE_BODY V with_decay(double decay, V parameter, V gradient) {
  return fma(number<V>(decay), parameter, gradient);
}

/// share * average + (1 - share) * x
template <class V>
TENURE_BODY V averaged(double share, V average, V x) {
  return fma(number<V>(share), average, number<V>(1 - share) * x);
}

template <class V, class U>
TENURE_BODY void sgd_body(const U& u, V& parameter, V gradient) {
  const V g = with_decay(u.options.weight_decay, parameter, gradient);
  parameter = fma(number<V>(-u.rate), g, parameter);
}

template <class V, class U>
TENURE_BODY void sgd_momentum_body(const U& u, V& parameter, V& velocity, V gradient) {
  const V g = with_decay(u.options.weight_decay, parameter, gradient);
  const V momentum = number<V>(u.options.momentum);
  velocity = fma(momentum, velocity, number<V>(1 - u.options.dampening) * g);
  const V by = u.options.nesterov ? fma(momentum, velocity, g) : velocity;
  parameter = fma(number<V>(-u.rate), by, parameter);
}

/// What corrects the bias of Adam's averages, which begin at 0.
struct AdamBias {
  double rate;
  double root;
};
TENURE_BODY AdamBias adam_bias(double rate, double beta1, double beta2, double step) {
  return {rate / (1 - std::pow(beta1, step)), 1 / std::sqrt(1 - std::pow(beta2, step))};
}
template <class V, class U>
TENURE_BODY void adam_body(const U& u, V& parameter, V& mean, V& square, V gradient) {
  V g = gradient;
  if (u.options.decoupled) {
    parameter = parameter * number<V>(1 - u.rate * u.options.weight_decay);
  } else {
    g = with_decay(u.options.weight_decay, parameter, g);
  }
  mean = averaged(u.options.beta1, mean, g);
  square = averaged(u.options.beta2, square, g * g);
  const V root = fma(sqrt(square), number<V>(u.bias.root), number<V>(u.options.epsilon));
  parameter = fma(number<V>(-u.bias.rate), mean / root, parameter);
}

template <class V, class U>
TENURE_BODY void rmsprop_body(const U& u, V& parameter, V& square, V gradient) {
  const V g = with_decay(u.options.weight_decay, parameter, gradient);
  square = averaged(u.options.alpha, square, g * g);
  parameter = fma(number<V>(-u.rate), g / (sqrt(square) + number<V>(u.options.epsilon)), parameter);
}

template <class V, class U>
TENURE_BODY void adagrad_body(const U& u, V& parameter, V& sum, V gradient) {
  const V g = with_decay(u.options.weight_decay, parameter, gradient);
  sum = fma(g, g, sum);
  parameter = fma(number<V>(-u.rate), g / (sqrt(sum) + number<V>(u.options.epsilon)), parameter);
}

template <class V, class U>
TENURE_BODY void lion_body(const U& u, V& parameter, V& mean, V gradient) {
  const V along = averaged(u.options.beta1, mean, gradient);
  const V sign = select(along == V(0), V(0), copy_sign(V(1), along));
  parameter =
      fma(number<V>(-u.rate), sign, parameter * number<V>(1 - u.rate * u.options.weight_decay));
  mean = averaged(u.options.beta2, mean, gradient);
}

TENURE_BODIES_END

#endif  // include guard
