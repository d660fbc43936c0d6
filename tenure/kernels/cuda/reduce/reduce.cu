#pragma once

#include "tenure/kernels/cuda/reduce/outputs.cuh"
#include "tenure/kernels/cuda/reduce/statistics.cuh"
#include "tenure/kernels/cuda/reduce/terms.cuh"

namespace tenure::kernels::cuda {

/// Neighbouring threads have neighbouring terms.
template <class T, class Fold>
inline void reduce_rows(const ReduceArguments& a) {
  static_assert(sizeof(typename Fold::State) <= kStateBytes);
  const Place place = place_of(a.groups);
  typename Fold::State s = Fold::none();
  if (place.group < a.outputs) {
    s = a.is_packed != 0 ? fold_terms<T, Fold, true>(a, place)
                         : fold_terms<T, Fold, false>(a, place);
  }
  join_rows<Fold>(s, place, a);
}

/// Neighbouring threads have neighbouring outputs, n each.
template <class T, class Fold, int n>
inline void reduce_columns_of(const ReduceArguments& a) {
  const Place place = place_of(a.groups);
  typename Fold::State states[n];
#pragma unroll
  for (auto& s : states) s = Fold::none();
  if (place.group * n < a.outputs) fold_columns<T, Fold>(a, place, states);
  join_columns<Fold>(states, a);
}
template <class T, class Fold>
inline void reduce_columns(const ReduceArguments& a) {
  constexpr int n = columns_of_thread(sizeof(T));
  if constexpr (sizeof(typename Fold::State) <= kSmallStateBytes && n > 1) {
    if (a.is_packed != 0) return reduce_columns_of<T, Fold, n>(a);
  }
  reduce_columns_of<T, Fold, 1>(a);
}

// The kernels, two for each rule.
#define TENURE_REDUCTION(name, Fold)                     \
  template <class T>                                     \
  inline void name##_rows(const ReduceArguments& a) {    \
    reduce_rows<T, Fold<T>>(a);                          \
  }                                                      \
  template <class T>                                     \
  inline void name##_columns(const ReduceArguments& a) { \
    reduce_columns<T, Fold<T>>(a);                       \
  }
TENURE_REDUCTION(reduce_sum, SumFold)
TENURE_REDUCTION(reduce_mean, MeanFold)
TENURE_REDUCTION(reduce_prod, ProdFold)
TENURE_REDUCTION(reduce_max, MaxFold)
TENURE_REDUCTION(reduce_min, MinFold)
TENURE_REDUCTION(reduce_any, AnyFold)
TENURE_REDUCTION(reduce_all, AllFold)
TENURE_REDUCTION(reduce_argmax, ArgMaxFold)
TENURE_REDUCTION(reduce_argmin, ArgMinFold)
TENURE_REDUCTION(reduce_variance, VarianceFold)
TENURE_REDUCTION(reduce_logsumexp, LogSumExpFold)
TENURE_REDUCTION(reduce_norm, NormFold)
TENURE_REDUCTION(reduce_power_norm, PowerNormFold)
TENURE_REDUCTION(reduce_largest_norm, LargestNormFold)
TENURE_REDUCTION(reduce_smallest_norm, SmallestNormFold)
#undef TENURE_REDUCTION

}  // namespace tenure::kernels::cuda
