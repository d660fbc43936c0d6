// Loops over contiguous elements with what is left of a vector at their end; compiled once per
// Highway target.
#if defined(TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#undef TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#else
#define TENURE_KERNELS_CPU_ELEMENTWISE_LANES_INL_H_
#endif

#include <cstdint>
#include <cstring>
#include <type_traits>

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

template <class T>
HWY_INLINE Vec<T> load(const T* from) {
  return hn::LoadU(hn::ScalableTag<T>(), from);
}
template <class T>
HWY_INLINE void store(Vec<T> v, T* to) {
  hn::StoreU(v.raw, hn::ScalableTag<T>(), to);
}

/// The first n elements, of less than a vector; the others are zeros. Not by way of memory: a load
/// waits long for several smaller stores. Where there are no masks a vector has at most four.
template <class T>
HWY_INLINE Vec<T> load_some(const T* from, std::int64_t n) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET <= HWY_AVX2 && HWY_ARCH_X86
  // What the mask leaves out is not read: compilers count on it, too.
  return hn::MaskedLoad(hn::FirstN(d, static_cast<std::size_t>(n)), d, from);
#else
  hn::Vec<decltype(d)> v = hn::InsertLane(hn::Zero(d), 0, from[0]);
  if constexpr (HWY_MAX_BYTES / sizeof(T) > 2) {
    if (n > 1) v = hn::InsertLane(v, 1, from[1]);
    if (n > 2) v = hn::InsertLane(v, 2, from[2]);
  }
  return v;
#endif
}

/// Writes the first n elements, of less than a vector, in moves of sizes that compilers know: they
/// make a copy of any size a call, or an instruction that is as slow.
template <class T>
HWY_INLINE void store_some(Vec<T> v, T* to, std::int64_t n) {
  const hn::ScalableTag<T> d;
#if HWY_TARGET <= HWY_AVX3
  hn::BlendedStore(v.raw, hn::FirstN(d, static_cast<std::size_t>(n)), d, to);
#else
  HWY_ALIGN T values[HWY_MAX_BYTES / sizeof(T)];
  hn::Store(v.raw, d, values);
  const T* from = values;
  const auto move = [&]<std::int64_t size>(std::integral_constant<std::int64_t, size>) HWY_ATTR {
    if constexpr (size * sizeof(T) < HWY_MAX_BYTES) {
      if ((n & size) == 0) return;
      std::memcpy(to, from, size * sizeof(T));
      from += size;
      to += size;
    }
  };
  move(std::integral_constant<std::int64_t, 4>());
  move(std::integral_constant<std::int64_t, 2>());
  move(std::integral_constant<std::int64_t, 1>());
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels
HWY_AFTER_NAMESPACE();

#endif  // include guard
