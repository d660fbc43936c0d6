// Loops over contiguous elements in vectors, with what is left over one by one.
#if defined(TENURE_KERNELS_CPU_NORM_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#undef TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#else
#define TENURE_KERNELS_CPU_NORM_SUM_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::norm {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <class T>
struct TypeOf {};

template <class D>
HWY_INLINE hn::Vec<D> load(D d, const hn::TFromD<D>* from) {
  return hn::LoadU(d, from);
}
template <class D>
HWY_INLINE void store(hn::Vec<D> v, D d, hn::TFromD<D>* to) {
  hn::StoreU(v, d, to);
}

/// Calls `f(d, i)` for vectors from element i on, the last ones with one lane each.
template <class T, class F>
HWY_INLINE void for_vectors(std::int64_t n, F f) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) f(d, i);
  for (; i < n; ++i) f(hn::CappedTag<T, 1>(), i);
}

/// The sum of `f(d, i)`.
template <class T, class F>
HWY_INLINE T sum_over(std::int64_t n, F f, TypeOf<T>) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  auto a = hn::Zero(d);  // four, so that additions need not wait for each other
  auto b = hn::Zero(d);
  auto c = hn::Zero(d);
  auto e = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    a = hn::Add(a, f(d, i));
    b = hn::Add(b, f(d, i + lanes));
    c = hn::Add(c, f(d, i + 2 * lanes));
    e = hn::Add(e, f(d, i + 3 * lanes));
  }
  for (; i + lanes <= n; i += lanes) a = hn::Add(a, f(d, i));
  T rest = 0;
  for (; i < n; ++i) rest += hn::GetLane(f(hn::CappedTag<T, 1>(), i));
  return hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(a, b), hn::Add(c, e)))) + rest;
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::norm
HWY_AFTER_NAMESPACE();
#endif
