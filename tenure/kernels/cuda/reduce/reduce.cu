#pragma once

#include "tenure/kernels/cuda/reduce/outputs.cuh"
#include "tenure/kernels/cuda/reduce/statistics.cuh"
#include "tenure/kernels/cuda/reduce/terms.cuh"

namespace tenure::kernels::cuda {

/// Neighbouring threads have neighbouring terms.
template <class T, class Fold, class After, class Arguments>
inline void reduce_rows(const Arguments& a) {
  static_assert(sizeof(typename Fold::State) <= kStateBytes);
  const Place place = place_of(a.groups);
  typename Fold::State s = Fold::none();
  if (place.group < a.outputs) {
    s = a.is_packed != 0 ? fold_terms<T, Fold, true>(a, place)
                         : fold_terms<T, Fold, false>(a, place);
  }
  join_rows<Fold, After>(s, place, a);
}

/// Neighbouring threads have neighbouring outputs, n each.
template <class T, class Fold, class After, int n, class Arguments>
inline void reduce_columns_of(const Arguments& a) {
  const Place place = place_of(a.groups);
  typename Fold::State states[n];
#pragma unroll
  for (auto& s : states) s = Fold::none();
  if (place.group * n < a.outputs) fold_columns<T, Fold>(a, place, states);
  join_columns<Fold, After>(states, a);
}
template <class T, class Fold, class After, class Arguments>
inline void reduce_columns(const Arguments& a) {
  constexpr int n = columns_of_thread(sizeof(T));
  if constexpr (sizeof(typename Fold::State) <= kSmallStateBytes && n > 1) {
    if (a.is_packed != 0) return reduce_columns_of<T, Fold, After, n>(a);
  }
  reduce_columns_of<T, Fold, After, 1>(a);
}

// The kernels, two for each rule.
#define TENURE_REDUCTION_BY(name, way, Fold)                                  \
  template <class T, class After = NoLoop, class Arguments = ReduceArguments> \
  inline void name##_##way(const Arguments& a) {                              \
    reduce_##way<T, Fold<T>, After>(a);                                       \
  }
#define TENURE_REDUCTION(name, Fold)    \
  TENURE_REDUCTION_BY(name, rows, Fold) \
  TENURE_REDUCTION_BY(name, columns, Fold)
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
#undef TENURE_REDUCTION_BY

}  // namespace tenure::kernels::cuda
