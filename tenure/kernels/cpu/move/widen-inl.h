// 16-bit floats become floats, per instruction set.
#if defined(TENURE_KERNELS_CPU_MOVE_WIDEN_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_MOVE_WIDEN_INL_H_
#undef TENURE_KERNELS_CPU_MOVE_WIDEN_INL_H_
#else
#define TENURE_KERNELS_CPU_MOVE_WIDEN_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "tenure/tensor/dtype.h"

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::widen {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whole vectors of 16-bit floats in place, the rest through a padded copy.
template <class Narrow, class Wide, class Step>
HWY_INLINE void for_vectors(const Narrow* in, Wide* out, std::size_t n, std::size_t lanes,
                            const Step& step) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) step(in + i, out + i);
  if (i == n) return;
  HWY_ALIGN Narrow tail_in[HWY_MAX_BYTES / 2] = {};
  HWY_ALIGN Wide tail_out[HWY_MAX_BYTES / 2];
  std::memcpy(tail_in, in + i, (n - i) * sizeof(Narrow));
  step(tail_in, tail_out);
  std::memcpy(out + i, tail_out, (n - i) * sizeof(Wide));
}

// Without the F16C instructions (SSE4) Highway's conversions miss infinities, NaN and rounding.
constexpr bool kHalfInHardware = HWY_TARGET <= HWY_AVX2;

/// How Highway calls a narrow float that it widens, or void.
template <class T>
using Widened = std::conditional_t<
    std::is_same_v<T, BFloat16>, hwy::bfloat16_t,
    std::conditional_t<std::is_same_v<T, Half> && kHalfInHardware, hwy::float16_t, void>>;

/// `n` elements that lie next to each other.
template <NarrowFloat T>
HWY_INLINE void widen_row(const T* row, float* out, std::size_t n) {
  using Narrow = Widened<T>;
  if constexpr (std::is_void_v<Narrow>) {
    std::copy_n(row, n, out);
  } else {
    const hn::ScalableTag<float> df;
    const hn::Rebind<Narrow, decltype(df)> dn;
    for_vectors(reinterpret_cast<const Narrow*>(row), out, n, hn::Lanes(df),
                [&](const Narrow* from, float* to)
                    HWY_ATTR { hn::StoreU(hn::PromoteTo(df, hn::LoadU(dn, from)), df, to); });
  }
}

/// The same of a type that is known at run time.
HWY_INLINE void widen_to_float(DType from, const void* in, float* out, std::size_t n) {
  visit_dtype(from, [&]<class From>(TypeTag<From>) {
    if constexpr (NarrowFloat<From>) widen_row(static_cast<const From*>(in), out, n);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace tenure::kernels::widen
HWY_AFTER_NAMESPACE();
#endif
