// Powers on Vec.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_POWER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_POWER_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_POWER_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_POWER_INL_H_
#endif

#include "tenure/kernels/cpu/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

/// Exact to float32: computed in float64. float64 itself by the C library.
template <class T>
HWY_INLINE Vec<T> pow(Vec<T> a, Vec<T> b) {
  const auto exact = [](T x, T y) { return std::pow(x, y); };
  if constexpr (std::is_same_v<T, float>) {
    const hn::ScalableTag<float> df;
    const hn::ScalableTag<double> dd;
    const hn::Half<decltype(df)> dh;
    const auto half = [&](auto x, auto y) HWY_ATTR {
      const auto log = hn::Log(dd, hn::PromoteTo(dd, x));
      const auto exponent = hn::Mul(log, hn::PromoteTo(dd, y));
      const auto inside = hn::Min(hn::Max(exponent, hn::Set(dd, -200.0)), hn::Set(dd, 200.0));
      return hn::DemoteTo(dh, hn::Exp(dd, inside));
    };
    const Vec<T> fast = hn::Combine(df, half(hn::UpperHalf(dh, a.raw), hn::UpperHalf(dh, b.raw)),
                                    half(hn::LowerHalf(dh, a.raw), hn::LowerHalf(dh, b.raw)));
    const auto valid = a > 0.0F && a < Vec<T>(kInfinity<T>) && abs(b) < Vec<T>(kInfinity<T>);
    if (HWY_LIKELY(all(valid))) return fast;
    return select(valid, fast, map_lanes(exact, a, b));
  } else {
    return map_lanes(exact, a, b);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
