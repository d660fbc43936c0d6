// Sums in columns: short chains of additions in the type of the terms, added up in float64.
#if defined(TENURE_KERNELS_CPU_REDUCE_CHAINS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef TENURE_KERNELS_CPU_REDUCE_CHAINS_INL_H_
#undef TENURE_KERNELS_CPU_REDUCE_CHAINS_INL_H_
#else
#define TENURE_KERNELS_CPU_REDUCE_CHAINS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>
#include <type_traits>

HWY_BEFORE_NAMESPACE();
namespace tenure::kernels::reduce::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// So many terms are added in their own type: a sum is off by half as many units at most.
constexpr std::int64_t kChain = 128;

/// Adds n chains to their totals, and begins them anew.
template <class T>
HWY_INLINE void add_chains(T* chains, double* totals, std::int64_t n) {
  const hn::ScalableTag<double> d;
  const hn::Rebind<T, decltype(d)> terms;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  std::int64_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto chain = hn::LoadU(terms, chains + i);
    const auto total = hn::LoadU(d, totals + i);
    if constexpr (std::is_same_v<T, double>) {
      hn::StoreU(hn::Add(total, chain), d, totals + i);
    } else {
      hn::StoreU(hn::Add(total, hn::PromoteTo(d, chain)), d, totals + i);
    }
    hn::StoreU(hn::Zero(terms), terms, chains + i);
  }
  for (; i < n; ++i) {
    totals[i] += static_cast<double>(chains[i]);
    chains[i] = 0;
  }
}

/// Adds the totals of the parts, which are `step` from each other, to those of the first one.
HWY_INLINE void add_parts(double* totals, std::int64_t n, std::int64_t parts, std::int64_t step) {
  const hn::ScalableTag<double> d;
  const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
  for (std::int64_t p = 1; p < parts; ++p) {
    const double* const part = totals + p * step;
    std::int64_t i = 0;
    for (; i + lanes <= n; i += lanes) {
      hn::StoreU(hn::Add(hn::LoadU(d, totals + i), hn::LoadU(d, part + i)), d, totals + i);
    }
    for (; i < n; ++i) totals[i] += part[i];
  }
}

}  // namespace
}  // namespace tenure::kernels::reduce::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
