// What each rule of update_rules.h does to an element of the parameter, of its state and of the
// gradient, in any kind of value (ops/elementwise/value_kinds.h).
#if defined(TENURE_OPS_NN_UPDATE_BODIES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#undef TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#else
#define TENURE_OPS_NN_UPDATE_BODIES_INL_H_
#endif

#include "tenure/ops/elementwise/value_kinds.h"
#include "tenure/ops/nn/update_rules.h"

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

template <class V>
TENURE_BODY void change(const SgdRule& r, V& parameter, V gradient) {
  const V g = with_decay(r.decay, parameter, gradient);
  parameter = fma(number<V>(-r.rate), g, parameter);
}

template <class V>
TENURE_BODY void change(const MomentumRule& r, V& parameter, V& velocity, V gradient) {
  const V g = with_decay(r.decay, parameter, gradient);
  const V momentum = number<V>(r.momentum);
  velocity = fma(momentum, velocity, number<V>(1 - r.dampening) * g);
  const V by = r.nesterov ? fma(momentum, velocity, g) : velocity;
  parameter = fma(number<V>(-r.rate), by, parameter);
}

template <class V>
TENURE_BODY void change(const AdamRule& r, V& parameter, V& mean, V& square, V gradient) {
  V g = gradient;
  if (r.decoupled) {
    parameter = parameter * number<V>(1 - r.rate * r.decay);
  } else {
    g = with_decay(r.decay, parameter, g);
  }
  mean = averaged(r.beta1, mean, g);
  square = averaged(r.beta2, square, g * g);
  const V root = fma(sqrt(square), number<V>(r.unbiased_root), number<V>(r.epsilon));
  parameter = fma(number<V>(-r.unbiased_rate), mean / root, parameter);
}

template <class V>
TENURE_BODY void change(const RmspropRule& r, V& parameter, V& square, V gradient) {
  const V g = with_decay(r.decay, parameter, gradient);
  square = averaged(r.alpha, square, g * g);
  parameter = fma(number<V>(-r.rate), g / (sqrt(square) + number<V>(r.epsilon)), parameter);
}

template <class V>
TENURE_BODY void change(const AdagradRule& r, V& parameter, V& sum, V gradient) {
  const V g = with_decay(r.decay, parameter, gradient);
  sum = fma(g, g, sum);
  parameter = fma(number<V>(-r.rate), g / (sqrt(sum) + number<V>(r.epsilon)), parameter);
}

template <class V>
TENURE_BODY void change(const LionRule& r, V& parameter, V& mean, V gradient) {
  const V along = averaged(r.beta1, mean, gradient);
  const V sign = select(along == V(0), V(0), copy_sign(V(1), along));
  parameter = fma(number<V>(-r.rate), sign, parameter * number<V>(1 - r.rate * r.decay));
  mean = averaged(r.beta2, mean, gradient);
}

TENURE_BODIES_END

#endif  // include guard
