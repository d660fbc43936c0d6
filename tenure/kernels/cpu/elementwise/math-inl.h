// Transcendental functions on Vec. Highway's own are valid on part of their domain; here they are
// completed, so that infinities, NaN, signed zeros and overflow come out as IEEE 754 wants them.
// The error bounds, in units in the last place (ulp), are for float32 and float64 on every
// instruction set: the largest errors seen in millions of random arguments, rounded up.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_MATH_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_MATH_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_MATH_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>

#include "tenure/kernels/cpu/elementwise/value-inl.h"
#include "tenure/ops/elementwise/words.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

template <class T>
inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T>
inline constexpr T kNaN = std::numeric_limits<T>::quiet_NaN();
template <class T>
inline constexpr bool kIsFloat = std::is_same_v<T, float>;
/// exp overflows from here on.
template <class T>
inline constexpr T kExpLimit = kIsFloat<T> ? static_cast<T>(88.7228394F)
                                           : static_cast<T>(709.782712893384);

template <class T>
inline constexpr T kPerLog2 = static_cast<T>(1.44269504088896340736);  // 1 / log(2)

/// exp(r) - 1 for |r| <= log(2) / 2, as r + r^2 q(r), which is exact for a tiny r. The error
/// of the minimax polynomial q comes to 0.05 ulp of exp(r). Its terms are added in pairs: one
/// after the other they would wait for each other.
HWY_INLINE Vec<float> reduced_expm1(Vec<float> r) {
  const Vec<float> square = r * r;
  const Vec<float> high = fma(r, 8.369164541e-3F, 4.166810215e-2F);
  const Vec<float> low = fma(r, 1.666651666e-1F, 4.999999404e-1F);
  const Vec<float> q = fma(square, fma(square, 1.383797149e-3F, high), low);
  return fma(square, q, r);
}

/// exp(x) = (1 + rest) 2^k, with k a whole number and rest between -0.3 and 0.42: k, and from it
/// the rest.
HWY_INLINE NearestPower power_in_exp(Vec<float> x) { return {x, kPerLog2<float>}; }
HWY_INLINE Vec<float> rest_of_exp(Vec<float> x, Vec<float> k) {
  // log(2) in two parts, the first so short that its products with k are exact.
  return reduced_expm1(fma(k, 2.12194440e-4F, fma(k, -0.693359375F, x)));
}

/// For |x| up to this exp(x) is far from overflow and from subnormal numbers.
inline constexpr float kPlainExp = 86.0F;
/// exp(x) for such an x. The same bits as with scale(), which takes longer but on AVX-512.
HWY_INLINE Vec<float> plain_exp(Vec<float> x) {
  const NearestPower nearest = power_in_exp(x);
  return fma(nearest.power(), rest_of_exp(x, nearest.k()), nearest.power());
}
/// exp(x) for an x where scale() is needed, or is as fast.
HWY_INLINE Vec<float> far_exp(Vec<float> x) {
  const Vec<float> k = power_in_exp(x).k();
  return scale(rest_of_exp(x, k) + 1.0F, k);
}
/// Whether all of `inside` holds and plain_exp is worth asking for.
HWY_INLINE bool takes_plain_exp(Mask<float> inside) {
  return HWY_TARGET > HWY_AVX3 && HWY_LIKELY(all(inside));
}

/// 1.5 ulp.
template <class T>
HWY_INLINE Vec<T> exp(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    if (takes_plain_exp(abs(x) <= kPlainExp)) return plain_exp(x);
    // Outside of these limits the result is 0 or infinite.
    return far_exp(at_most(89.0F, at_least(-104.0F, x)));
  } else {
    const hn::ScalableTag<T> d;
    // Highway's exp takes NaN for very small, and overflows its integers far above the limit.
    const Vec<T> y = hn::Exp(d, hn::Min(x.raw, hn::Set(d, kExpLimit<T> + 1)));
    return select(is_nan(x), x, select(x > kExpLimit<T>, kInfinity<T>, y));
  }
}

/// The same for x <= 0.
template <class T>
HWY_INLINE Vec<T> exp_below_one(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    if (takes_plain_exp(x >= -kPlainExp)) return plain_exp(x);
    return far_exp(at_least(-104.0F, x));
  } else {
    return exp(x);
  }
}

/// exp(-w) for w >= 0, by which `scaled` is multiplied, with all its digits also where that is
/// subnormal; where w is large, so is `scaled`.
HWY_INLINE Vec<float> decayed(Vec<float> w, Vec<float>& scaled) {
  if (takes_plain_exp(w <= kPlainExp)) {
    const Vec<float> factor = plain_exp(-w);
    scaled = scaled * factor;
    return factor;
  }
  const Vec<float> x = at_least(-150.0F, -w);  // beyond, both are 0
  const Vec<float> k = power_in_exp(x).k();
  const Vec<float> factor = rest_of_exp(x, k) + 1.0F;
  scaled = scale(scaled * factor, k);
  return scale(factor, k);
}

/// 4.5 ulp.
template <class T>
HWY_INLINE Vec<T> expm1(Vec<T> x) {
  const hn::ScalableTag<T> d;
  const Vec<T> inside = hn::Min(hn::Max(x.raw, hn::Set(d, T(-100))), hn::Set(d, kExpLimit<T>));
  const Vec<T> y = copy_sign(Vec<T>(hn::Expm1(d, inside.raw)), x);
  return select(is_nan(x), x, select(x > kExpLimit<T>, kInfinity<T>, y));
}

/// `y` = log of some base of x where x is positive and finite; the rest of the domain.
template <class T>
HWY_INLINE Vec<T> complete_log(Vec<T> x, Vec<T> y) {
  const Vec<T> edge = select(x == T(0), Vec<T>(-kInfinity<T>), select(x > T(0), x, kNaN<T>));
  return select(x > T(0) && x < Vec<T>(kInfinity<T>), y, edge);
}
/// 1 ulp.
template <class T>
HWY_INLINE Vec<T> log(Vec<T> x) {
  return complete_log(x, Vec<T>(hn::Log(hn::ScalableTag<T>(), x.raw)));
}
/// 2.5 ulp.
template <class T>
HWY_INLINE Vec<T> log2(Vec<T> x) {
  return complete_log(x, Vec<T>(hn::Log2(hn::ScalableTag<T>(), x.raw)));
}
/// 2.5 ulp.
template <class T>
HWY_INLINE Vec<T> log10(Vec<T> x) {
  return complete_log(x, Vec<T>(hn::Log10(hn::ScalableTag<T>(), x.raw)));
}
/// 3 ulp.
template <class T>
HWY_INLINE Vec<T> log1p(Vec<T> x) {
  const Vec<T> y = hn::Log1p(hn::ScalableTag<T>(), x.raw);
  const Vec<T> edge = select(x == T(-1), Vec<T>(-kInfinity<T>), select(x > T(-1), x, kNaN<T>));
  return select(x > T(-1) && x < Vec<T>(kInfinity<T>), y, edge);
}

/// 3 ulp. float32: exp(2x) = p (1 + u) / (1 - u) with p = 2^k and u = tanh(x - k log(2) / 2), so
/// that one division serves both: tanh(x) is (u (1 + p) - (1 - p)) / (1 + p - u (1 - p)). It stays
/// in
/// [-1, 1], and is exact for a tiny x and a signed zero, where p is 1 and u is x.
template <class T>
HWY_INLINE Vec<T> tanh(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    const Vec<T> y = at_most(10.0F, at_least(-10.0F, x));  // beyond, the result is 1
    const NearestPower nearest(y, 2 * kPerLog2<T>);
    const Vec<T> p = nearest.power();
    // One part of log(2) is enough: its error grows with k as 2^|k| does.
    const Vec<T> r = fma(nearest.k(), -0.34657359F, y);
    const Vec<T> square = r * r;
    const Vec<T> u = r * fma(square, fma(square, 0.131106283F, -0.333312721F), 1.0F);
    const Vec<T> above = 1.0F + p;
    const Vec<T> below = 1.0F - p;
    return Vec<T>(hn::MulSub(u.raw, above.raw, below.raw)) / minus_product(u, below, above);
  } else {
    const hn::ScalableTag<T> d;
    const Vec<T> inside = hn::Min(hn::Max(x.raw, hn::Set(d, T(-40))), hn::Set(d, T(40)));
    return select(is_nan(x), x, Vec<T>(hn::Tanh(d, inside.raw)));
  }
}

/// 3 ulp, also where the result is subnormal.
template <class T>
HWY_INLINE Vec<T> sigmoid_by_exp(Vec<T> x) {
  const Vec<T> e = exp_below_one(minus_abs(x));
  return select(x < T(0), e, T(1)) / (e + T(1));
}
/// The same. Rare, and kept out of loops, which would be slower around it.
template <class T>
HWY_NOINLINE Vec<T> far_sigmoid(Vec<T> x) {
  return sigmoid_by_exp(x);
}
/// 3 ulp. float32: exp(-x) = 2^k (1 - u) / (1 + u) with u = tanh((x + k log(2)) / 2), so that one
/// division serves both.
template <class T>
HWY_INLINE Vec<T> sigmoid(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    const NearestPower nearest(x, -kPerLog2<T>);
    const Vec<T> k = nearest.k();
    const Vec<T> r = fma(k, -2.12194440e-4F, fma(k, 0.693359375F, x));
    const Vec<T> square = r * r;
    const Vec<T> q = fma(square, fma(square, 4.09172786e-3F, -4.16633046e-2F), 0.499999978F);
    const Vec<T> above = fma(q, r, 1.0F);
    const Vec<T> below = minus_product(q, r, 1.0F);
    const Vec<T> y = above / fma(nearest.power(), below, above);
    const Mask<T> inside = abs(x) <= kPlainExp;
    if (HWY_LIKELY(all(inside))) return y;
    return select(inside, y, far_sigmoid(x));
  } else {
    return sigmoid_by_exp(x);
  }
}

template <class T>
HWY_INLINE Mask<T> in_trigonometric_range(Vec<T> x) {
  return abs(x) <= T(39000);
}
/// 3 ulp; larger arguments by the C library.
template <class T>
HWY_INLINE Vec<T> sin(Vec<T> x) {
  const hn::ScalableTag<T> d;
  const Vec<T> y = select(x == T(0), x, Vec<T>(hn::Sin(d, x.raw)));
  return guarded(
      in_trigonometric_range(x), y, [](T v) { return std::sin(v); }, x);
}
/// 3 ulp; larger arguments by the C library.
template <class T>
HWY_INLINE Vec<T> cos(Vec<T> x) {
  const hn::ScalableTag<T> d;
  return guarded(
      in_trigonometric_range(x), Vec<T>(hn::Cos(d, x.raw)), [](T v) { return std::cos(v); }, x);
}
/// 5 ulp.
template <class T>
HWY_INLINE Vec<T> tan(Vec<T> x) {
  const hn::ScalableTag<T> d;
  const Vec<T> sine = select(x == T(0), x, Vec<T>(hn::Sin(d, x.raw)));
  const Vec<T> y = sine / Vec<T>(hn::Cos(d, x.raw));
  return guarded(
      in_trigonometric_range(x), y, [](T v) { return std::tan(v); }, x);
}
/// 3 ulp.
template <class T>
HWY_INLINE Vec<T> asin(Vec<T> x) {
  return select(abs(x) <= T(1), Vec<T>(hn::Asin(hn::ScalableTag<T>(), x.raw)), kNaN<T>);
}
/// 1.5 ulp.
template <class T>
HWY_INLINE Vec<T> acos(Vec<T> x) {
  return select(abs(x) <= T(1), Vec<T>(hn::Acos(hn::ScalableTag<T>(), x.raw)), kNaN<T>);
}
/// 3 ulp.
template <class T>
HWY_INLINE Vec<T> atan(Vec<T> x) {
  return guarded(
      abs(x) < Vec<T>(kInfinity<T>), Vec<T>(hn::Atan(hn::ScalableTag<T>(), x.raw)),
      [](T v) { return std::atan(v); }, x);
}

/// 3.5 ulp.
template <class T>
HWY_INLINE Vec<T> cosh(Vec<T> x) {
  const Vec<T> half = exp(abs(x) * T(0.5));  // its square may overflow where cosh does not yet
  return (half * T(0.5)) * half + T(0.5) / (half * half);
}
/// 4 ulp.
template <class T>
HWY_INLINE Vec<T> sinh(Vec<T> x) {
  const Vec<T> a = abs(x);
  const Vec<T> half = exp(a * T(0.5));
  const Vec<T> far = copy_sign((half * T(0.5)) * half, x);
  const hn::ScalableTag<T> d;
  const Vec<T> near = hn::Sinh(d, hn::Min(hn::Max(x.raw, hn::Set(d, T(-20))), hn::Set(d, T(20))));
  return select(a < T(20), near, select(is_nan(x), x, far));
}
/// 3.5 ulp.
template <class T>
HWY_INLINE Vec<T> asinh(Vec<T> x) {
  const T limit = kIsFloat<T> ? T(1e18) : T(1e150);  // its square must not overflow
  return guarded(
      abs(x) < limit, Vec<T>(hn::Asinh(hn::ScalableTag<T>(), x.raw)),
      [](T v) { return std::asinh(v); }, x);
}
/// 3 ulp.
template <class T>
HWY_INLINE Vec<T> acosh(Vec<T> x) {
  const T limit = kIsFloat<T> ? T(1e18) : T(1e150);
  return guarded(
      x >= T(1) && x < Vec<T>(limit), Vec<T>(hn::Acosh(hn::ScalableTag<T>(), x.raw)),
      [](T v) { return std::acosh(v); }, x);
}
/// 3.5 ulp.
template <class T>
HWY_INLINE Vec<T> atanh(Vec<T> x) {
  return guarded(
      abs(x) < T(1), Vec<T>(hn::Atanh(hn::ScalableTag<T>(), x.raw)),
      [](T v) { return std::atanh(v); }, x);
}

/// 3 ulp: x P(x^2) near zero, 1 - exp(-x^2) G(x) further out, Chebyshev fits of erf(x)/x on [0, 1]
/// and of erfc(x) exp(x^2) on [1, 4]. float64 by the C library.
template <class T>
HWY_INLINE Vec<T> erf(Vec<T> x) {
  if constexpr (kIsFloat<T>) {
    const Vec<T> a = abs(x);
    const Vec<T> z = x * x;
    Vec<T> p = -9.66704579e-06F;
    p = fma(p, z, 1.12659594e-4F);
    p = fma(p, z, -8.48408044e-4F);
    p = fma(p, z, 5.22103181e-3F);
    p = fma(p, z, -2.68654307e-2F);
    p = fma(p, z, 1.12837825e-1F);
    p = fma(p, z, -3.76126385e-1F);
    p = fma(p, z, 1.12837917F);
    const Vec<T> t = fma(a, 1.0F / 1.5F, -2.5F / 1.5F);
    Vec<T> g = 9.2949743e-05F;
    g = fma(g, t, -2.45186452e-4F);
    g = fma(g, t, 3.76477275e-4F);
    g = fma(g, t, -9.16272603e-4F);
    g = fma(g, t, 2.41838423e-3F);
    g = fma(g, t, -5.61123364e-3F);
    g = fma(g, t, 1.24866996e-2F);
    g = fma(g, t, -2.69979374e-2F);
    g = fma(g, t, 5.6110628e-2F);
    g = fma(g, t, -1.11521391e-1F);
    g = fma(g, t, 2.10806364e-1F);
    const Vec<T> far = select(a < 4.0F, 1.0F - exp(-z) * g, 1.0F);
    return select(is_nan(x), x, select(a <= 1.0F, p * x, copy_sign(far, x)));
  } else {
    return map_lanes([](T v) { return std::erf(v); }, x);
  }
}

/// 2^x; 1.5 ulp.
template <class T>
HWY_INLINE Vec<T> exp2(Vec<T> x) {
  constexpr T kLimit = kIsFloat<T> ? T(200) : T(2000);
  const Vec<T> inside = at_most(kLimit, at_least(-kLimit, x));
  const Vec<T> k = round(inside);
  const Vec<T> r = (inside - k) * T(0.693147180559945309417);
  if constexpr (kIsFloat<T>) {
    return scale(reduced_expm1(r) + 1.0F, k);
  } else {
    return scale(exp(r), k);
  }
}

// By the C library, and by words.h, lane by lane.

template <class T>
HWY_INLINE Vec<T> cbrt(Vec<T> x) {
  return map_lanes([](T v) { return std::cbrt(v); }, x);
}
template <class T>
HWY_INLINE Vec<T> atan2(Vec<T> y, Vec<T> x) {
  return map_lanes([](T s, T c) { return std::atan2(s, c); }, y, x);
}
template <class T>
HWY_INLINE Vec<T> floor_divide(Vec<T> a, Vec<T> b) {
  return map_lanes([](T x, T y) { return ops::words::floor_divide(x, y); }, a, b);
}
template <class T>
HWY_INLINE Vec<T> floor_remainder(Vec<T> a, Vec<T> b) {
  return map_lanes([](T x, T y) { return ops::words::floor_remainder(x, y); }, a, b);
}
template <class T>
HWY_INLINE Vec<T> truncated_remainder(Vec<T> a, Vec<T> b) {
  return map_lanes([](T x, T y) { return ops::words::truncated_remainder(x, y); }, a, b);
}
template <class T>
HWY_INLINE Vec<T> hypot(Vec<T> a, Vec<T> b) {
  return map_lanes([](T x, T y) { return std::hypot(x, y); }, a, b);
}
template <class T>
HWY_INLINE Vec<T> erfc(Vec<T> x) {
  return map_lanes([](T v) { return std::erfc(v); }, x);
}
template <class T>
HWY_INLINE Vec<T> inverse_erf(Vec<T> x) {
  return map_lanes([](T v) { return ops::words::inverse_erf(v); }, x);
}
template <class T>
HWY_INLINE Vec<T> log_gamma(Vec<T> x) {
  return map_lanes([](T v) { return ops::words::log_gamma(v); }, x);
}
template <class T>
HWY_INLINE Vec<T> digamma(Vec<T> x) {
  return map_lanes([](T v) { return ops::words::digamma(v); }, x);
}
HWY_INLINE Vec<double> normal_tail(Vec<double> x) {
  return map_lanes([](double v) { return ops::words::normal_tail(v); }, x);
}
HWY_INLINE Vec<double> wide_gelu(Vec<double> x) {
  return map_lanes([](double v) { return ops::words::wide_gelu(v); }, x);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
