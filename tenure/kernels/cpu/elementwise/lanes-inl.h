// Loops over contiguous elements with what is left of a vector at their end; compiled once per
// Highway target.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#endif

#include <algorithm>

#include "tenure/kernels/cpu/elementwise/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels {
namespace HWY_NAMESPACE {

/// Sums go on in float64 after so many terms of a lane: they lose few bits.
inline constexpr std::size_t kTerms = 32;

/// Calls `f(i)` for every full vector of n elements, and `tail(i, rest)` for what is left.
template <class T, class F, class Tail>
HWY_INLINE void for_each_vector(std::int64_t n, const F& f, const Tail& tail) {
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(hn::ScalableTag<T>()));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(i);
  if (i < n) tail(i, n - i);
}

/// A vector in memory. One that is filled in part ends in zeros.
template <class T>
struct Lanes {
  HWY_ALIGN T values[HWY_MAX_BYTES / sizeof(T)] = {};
  HWY_INLINE Lanes(const T* from, std::int64_t n) { std::copy_n(from, n, values); }
  HWY_INLINE explicit Lanes(Vec<T> v) { hn::Store(v.raw, hn::ScalableTag<T>(), values); }
  HWY_INLINE Vec<T> vector() const { return hn::Load(hn::ScalableTag<T>(), values); }
};

template <class T>
HWY_INLINE Vec<T> load(const T* from) {
  return hn::LoadU(hn::ScalableTag<T>(), from);
}
template <class T>
HWY_INLINE void store(Vec<T> v, T* to) {
  hn::StoreU(v.raw, hn::ScalableTag<T>(), to);
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
