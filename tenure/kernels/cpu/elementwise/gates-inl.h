// Functions x * g(x) where g goes from 0 to 1: silu, gelu and their kin. Computed such that the
// result keeps its digits far out on the negative side, where g is tiny or subnormal.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_GATES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_GATES_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_GATES_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_GATES_INL_H_
#endif

#include "tenure/kernels/cpu/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

/// |x|, but no larger than `limit`. NaN becomes the limit.
template <class T>
HWY_INLINE Vec<T> capped(Vec<T> x, T limit) {
  return hn::Min(hn::Abs(x.raw), hn::Set(hn::ScalableTag<T>(), limit));
}

/// From here on all of these functions are 0 on the negative side and x on the positive one.
template <class T>
inline constexpr T kGateEnd = kIsFloat<T> ? T(200) : T(2000);

template <class T>
struct Decay {
  Vec<T> factor;  ///< exp(-w), or 0 where that changes nothing when it is added to 1
  Vec<T> scaled;  ///< t exp(-w), with all its digits also where exp(-w) is subnormal
};
template <class T>
HWY_INLINE Decay<T> decay(Vec<T> t, Vec<T> w) {
  if constexpr (kIsFloat<T>) {
    const auto [factor, k] = scaled_exp(at_least(-150.0F, -w));  // beyond, both are 0
    return {scale(factor, k), scale(t * factor, k)};
  } else {
    constexpr T kFar = 640;
    constexpr T kShift = 64;                           // kShift - w is exact beyond kFar
    constexpr T kShifted = 1.6038108905486378529e-28;  // exp(-kShift)
    const Mask<T> far = w > kFar;
    const Vec<T> e = exp(select(far, kShift - w, -w));
    const Vec<T> scaled = t * e;
    return {select(far, T(0), e), select(far, scaled * kShifted, scaled)};
  }
}

/// a * b - product, exactly; `product` is a * b rounded.
template <class T>
HWY_INLINE Vec<T> product_error(Vec<T> a, Vec<T> b, Vec<T> product) {
#if HWY_NATIVE_FMA
  return hn::MulSub(a.raw, b.raw, product.raw);
#else  // Dekker's product of halves
  constexpr T kSplit = kIsFloat<T> ? T(0x1p12 + 1) : T(0x1p27 + 1);
  const auto upper = [](Vec<T> v) HWY_ATTR { return v * kSplit - (v * kSplit - v); };
  const Vec<T> a1 = upper(a);
  const Vec<T> b1 = upper(b);
  const Vec<T> a2 = a - a1;
  const Vec<T> b2 = b - b1;
  return ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2;
#endif
}

/// x sigmoid(x); 3.5 ulp.
template <class T>
HWY_INLINE Vec<T> silu(Vec<T> x) {
  const Vec<T> t = capped(x, kGateEnd<T>);
  const Decay<T> d = decay(t, t);
  return select(x < T(0), -d.scaled, x) / (d.factor + T(1));
}

/// x tanh(log(1 + exp(x))), which is rational in exp(x); 5 ulp.
template <class T>
HWY_INLINE Vec<T> mish(Vec<T> x) {
  const Vec<T> t = capped(x, kGateEnd<T>);
  const auto [e, scaled] = decay(t, t);
  const Vec<T> below = -scaled * (e + T(2)) / fma(e, e + T(2), T(2));
  const Vec<T> above = x * (fma(e, T(2), T(1)) / fma(e + e, e + T(1), T(1)));
  return select(x < T(0), below, above);
}

/// H(t) = Phi(-t) exp(t^2 / 2), a minimax polynomial in 3 / (t + 3) on [0, 15], beyond which
/// Phi(-t) is zero in float32.
HWY_INLINE Vec<float> normal_tail(Vec<float> t) {
  const Vec<float> s = 3.0F / (t + 3.0F);
  Vec<float> h = -2.697031762e-2F;
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
template <class T>
HWY_INLINE Vec<T> gelu(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    const Vec<T> t = capped(x, 15.0F);
    const Vec<T> square = t * t;
    const Vec<T> h = normal_tail(t);
    // What rounding took from the square is a factor of the exponential.
    const Vec<T> rest = product_error(t, t, square) * -0.5F;
    const Vec<T> tail = decay(t, square * 0.5F).scaled * fma(h, rest, h);
    return select(x < 0.0F, -tail, x - tail);
  } else {
    return map_lanes(
        [](T v) {
          constexpr long double kRootHalf = 0.70710678118654752440084436210484904L;
          const long double wide = std::max(v, -kGateEnd<T>);
          return static_cast<T>(wide * std::erfc(-wide * kRootHalf) / 2);
        },
        x);
  }
}

/// x (1 + tanh(u)) / 2 = x sigmoid(2u) with u = sqrt(2 / pi) (x + 0.044715 x^3); 4.5 ulp. Errors of
/// 2u are multiplied by its size, so it is computed in two parts.
template <class T>
HWY_INLINE Vec<T> gelu_tanh(Vec<T> x) {
  constexpr long double kLinear = 1.59576912160573071175978423973752L;
  // So short that subtracting from it is exact, so long that the rest is negligible when squared.
  constexpr T kLinearHead = kIsFloat<T> ? T(0x1.9884p+0) : T(0x1.9884533d43p+0);
  constexpr T kLinearRest = static_cast<T>(kLinear - kLinearHead);
  constexpr long double kCubic = kLinear * 0.044715L;
  constexpr T kCubicHead = static_cast<T>(kCubic);
  constexpr T kCubicRest = static_cast<T>(kCubic - kCubicHead);

  const Vec<T> t = capped(x, kIsFloat<T> ? T(15) : T(30));
  const Vec<T> square = t * t;
  const Vec<T> square_rest = product_error(t, t, square);
  const Vec<T> slope = square * kCubicHead;
  const Vec<T> sum = slope + kLinearHead;
  const Vec<T> sum_rest = (kLinearHead - sum) + slope +
                          product_error(square, Vec<T>(kCubicHead), slope) +
                          fma(square_rest, kCubicHead, fma(square, kCubicRest, kLinearRest));
  const Vec<T> w = sum * t;
  const Vec<T> w_rest = fma(sum_rest, t, product_error(sum, t, w));
  const Decay<T> d = decay(t, w);
  const Vec<T> scaled = d.scaled - d.scaled * w_rest;
  const Vec<T> factor = d.factor - d.factor * w_rest;
  return select(x < T(0), -scaled, x) / (factor + T(1));
}

// Their slopes. That at -t is 1 less the one at t: both come of one number that goes to 0 as t
// grows. It changes its sign near t = 1, so errors are in units of 1. Far out on the negative side,
// where they are too small for a number, slopes are -0.

/// The slope at x from the one at -|x|. NaN stays NaN.
template <class T>
HWY_INLINE Vec<T> slope_at(Vec<T> x, Vec<T> at_minus_t) {
  return select(is_nan(x), x, select(x < T(0), at_minus_t, T(1) - at_minus_t));
}

/// s + x s (1 - s), s the sigmoid of x.
template <class T>
HWY_INLINE Vec<T> silu_slope(Vec<T> x) {
  const Vec<T> t = capped(x, kGateEnd<T>);
  const auto [e, scaled] = decay(t, t);
  const Vec<T> whole = e + T(1);
  return slope_at(x, -(scaled - e * whole) / (whole * whole));
}

/// Phi(x) + x phi(x).
template <class T>
HWY_INLINE Vec<T> gelu_slope(Vec<T> x) {
  constexpr T kBell = T(0.39894228040143267794);  // 1 / sqrt(2 pi)
  if constexpr (kIsFloat<T>) {
    const Vec<T> t = capped(x, 15.0F);
    return slope_at(x, -(t * kBell - normal_tail(t)) * exp(t * t * -0.5F));
  } else {
    const Vec<T> t = capped(x, T(40));
    const Vec<T> tail = map_lanes([](T v) { return std::erfc(v * 0.70710678118654752440) / 2; }, t);
    return slope_at(x, -(t * kBell * exp(t * t * T(-0.5)) - tail));
  }
}

/// s + x s (1 - s) v' with s the sigmoid of v = sqrt(8 / pi) (x + 0.044715 x^3).
template <class T>
HWY_INLINE Vec<T> gelu_tanh_slope(Vec<T> x) {
  constexpr T kLinear = T(1.59576912160573071176);
  constexpr T kCubic = kLinear * T(0.044715);
  const Vec<T> t = capped(x, kIsFloat<T> ? T(15) : T(30));
  const Vec<T> square = t * t;
  const Vec<T> e = exp(-(fma(square, kCubic, kLinear) * t));
  const Vec<T> whole = e + T(1);
  const Vec<T> rise = fma(square, 3 * kCubic, kLinear) * t;
  return slope_at(x, -((rise - whole) * e) / (whole * whole));
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
