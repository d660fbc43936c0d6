// Functions x * g(x) where g goes from 0 to 1: silu, gelu and the like. Computed such that the
// result keeps its digits far out on the negative side, where g is tiny or subnormal.
#if defined(TENURE_OPS_ELEMENTWISE_GATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_OPS_ELEMENTWISE_GATES_INL_H_
#undef TENURE_OPS_ELEMENTWISE_GATES_INL_H_
#else
#define TENURE_OPS_ELEMENTWISE_GATES_INL_H_
#endif

#include <type_traits>

#include "tenure/ops/elementwise/value_kinds.h"

TENURE_BODIES_BEGIN

template <class V>
inline constexpr bool kIsSingle = std::is_same_v<typename V::Scalar, float>;

/// From here on all of these functions are 0 on the negative side and x on the positive one.
template <class V>
inline constexpr auto kGateEnd = static_cast<typename V::Scalar>(kIsSingle<V> ? 200 : 2000);

/// exp(-w), or 0 where that changes nothing when it is added to 1. `scaled` is multiplied by
/// exp(-w), with all its digits also where that is subnormal. No struct of both: compilers write
/// one of two vectors to memory that nobody reads.
template <class V>
TENURE_BODY V decay(V w, V& scaled) {
  using T = typename V::Scalar;
  if constexpr (requires { decayed(w, scaled); }) {
    return decayed(w, scaled);
  } else {
    constexpr T kFar = kIsSingle<V> ? T(80) : T(640);
    constexpr T kShift = kIsSingle<V> ? T(32) : T(64);  // kShift - w is exact beyond kFar
    // exp(-kShift)
    constexpr T kShifted = kIsSingle<V> ? T(1.26641655490941757e-14) : T(1.6038108905486378529e-28);
    const auto far = w > kFar;
    const V e = exp(select(far, kShift - w, -w));
    scaled = scaled * e;
    scaled = select(far, scaled * kShifted, scaled);
    return select(far, V(0), e);
  }
}

/// x sigmoid(x); 3.5 ulp.
template <class V>
TENURE_BODY V silu(V x) {
  using T = typename V::Scalar;
  const V t = capped(x, kGateEnd<V>);
  V scaled = t;
  const V factor = decay(t, scaled);
  return select(x < T(0), -scaled, x) / (factor + T(1));
}

/// x tanh(log(1 + exp(x))), which is rational in exp(x); 5 ulp.
template <class V>
TENURE_BODY V mish(V x) {
  using T = typename V::Scalar;
  const V t = capped(x, kGateEnd<V>);
  V scaled = t;
  const V e = decay(t, scaled);
  const V below = -scaled * (e + T(2)) / fma(e, e + T(2), T(2));
  const V above = x * (fma(e, T(2), T(1)) / fma(e + e, e + T(1), T(1)));
  return select(x < T(0), below, above);
}

/// H(t) = Phi(-t) exp(t^2 / 2), a minimax polynomial in 3 / (t + 3) on [0, 15], beyond which
/// Phi(-t) is zero in float32.
template <class V>
TENURE_BODY V scaled_normal_tail(V t) {
  const V s = 3.0F / (t + 3.0F);
  V h = -2.697031762e-2F;
  h = fma(h, s, 1.506796035e-1F);
  h = fma(h, s, -3.166516808e-1F);
  h = fma(h, s, 2.738113591e-1F);
  h = fma(h, s, -9.431356394e-2F);
  h = fma(h, s, 1.394237574e-1F);
  h = fma(h, s, 1.064986606e-1F);
  h = fma(h, s, 1.346761288e-1F);
  h = fma(h, s, 1.328410775e-1F);
  return fma(h, s, 4.980912599e-6F);
}

/// x Phi(x); 8 ulp. float64 by the C library, in extended precision.
template <class V>
TENURE_BODY V gelu(V x) {
  if constexpr (kIsSingle<V>) {
    const V t = capped(x, 15.0F);
    const V square = t * t;
    const V h = scaled_normal_tail(t);
    // What rounding took from the square is a factor of the exponential.
    const V rest = product_error(t, t, square) * -0.5F;
    V scaled = t;
    decay(square * 0.5F, scaled);
    const V tail = scaled * fma(h, rest, h);
    return select(x < 0.0F, -tail, x - tail);
  } else {
    return wide_gelu(x);
  }
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3); 4.5 ulp. Errors of
/// 2u are multiplied by its size, so it is computed in two parts.
template <class V>
TENURE_BODY V gelu_tanh(V x) {
  using T = typename V::Scalar;
  constexpr long double kLinear = 1.59576912160573071175978423973752L;
  // So short that subtracting from it is exact, so long that the rest is negligible when squared.
  constexpr T kLinearHead = kIsSingle<V> ? T(0x1.9884p+0) : T(0x1.9884533d43p+0);
  constexpr T kLinearRest = static_cast<T>(kLinear - kLinearHead);
  constexpr long double kCubic = kLinear * 0.044715L;
  constexpr T kCubicHead = static_cast<T>(kCubic);
  constexpr T kCubicRest = static_cast<T>(kCubic - kCubicHead);

  const V t = capped(x, kIsSingle<V> ? T(15) : T(30));
  const V square = t * t;
  const V square_rest = product_error(t, t, square);
  const V slope = square * kCubicHead;
  const V sum = slope + kLinearHead;
  const V sum_rest = (kLinearHead - sum) + slope + product_error(square, V(kCubicHead), slope) +
                     fma(square_rest, kCubicHead, fma(square, kCubicRest, kLinearRest));
  const V w = sum * t;
  const V w_rest = fma(sum_rest, t, product_error(sum, t, w));
  V scaled = t;
  V factor = decay(w, scaled);
  scaled = scaled - scaled * w_rest;
  factor = factor - factor * w_rest;
  return select(x < T(0), -scaled, x) / (factor + T(1));
}

// Their slopes. That at -t is 1 less the one at t: both come of one number that goes to 0 as t
// grows. It changes its sign near t = 1, so errors are in units of 1. Far out on the negative side,
// where they are too small for a number, slopes are -0.

/// The slope at x from the one at -|x|. NaN stays NaN.
template <class V>
TENURE_BODY V slope_at(V x, V at_minus_t) {
  using T = typename V::Scalar;
  return select(is_nan(x), x, select(x < T(0), at_minus_t, T(1) - at_minus_t));
}

/// s + x s (1 - s), s the sigmoid of x.
template <class V>
TENURE_BODY V silu_slope(V x) {
  using T = typename V::Scalar;
  const V t = capped(x, kGateEnd<V>);
  V scaled = t;
  const V e = decay(t, scaled);
  const V whole = e + T(1);
  return slope_at(x, -(scaled - e * whole) / (whole * whole));
}

/// Phi(x) + x phi(x).
template <class V>
TENURE_BODY V gelu_slope(V x) {
  using T = typename V::Scalar;
  constexpr T kBell = T(0.39894228040143267794);  // 1 / sqrt(2 pi)
  if constexpr (kIsSingle<V>) {
    const V t = capped(x, 15.0F);
    return slope_at(x, -(t * kBell - scaled_normal_tail(t)) * exp(t * t * -0.5F));
  } else {
    const V t = capped(x, T(40));
    return slope_at(x, -(t * kBell * exp(t * t * T(-0.5)) - normal_tail(t)));
  }
}

/// s + x s (1 - s) v' with s the sigmoid of v = sqrt(8 / pi) (x + 0.044715 x^3).
template <class V>
TENURE_BODY V gelu_tanh_slope(V x) {
  using T = typename V::Scalar;
  constexpr T kLinear = T(1.59576912160573071176);
  constexpr T kCubic = kLinear * T(0.044715);
  const V t = capped(x, kIsSingle<V> ? T(15) : T(30));
  const V square = t * t;
  const V e = exp(-(fma(square, kCubic, kLinear) * t));
  const V whole = e + T(1);
  const V rise = fma(square, 3 * kCubic, kLinear) * t;
  return slope_at(x, -((rise - whole) * e) / (whole * whole));
}

TENURE_BODIES_END

#endif  // include guard
