#pragma once

#include "tenure/kernels/cuda/reduce/outputs.cuh"
#include "tenure/kernels/cuda/reduce/statistics.cuh"
#include "tenure/kernels/cuda/reduce/terms.cuh"

namespace tenure::kernels::cuda {

template <class T, class Fold>
inline void reduce_with(const ReduceArguments& a) {
  using State = typename Fold::State;
  static_assert(sizeof(State) <= kStateBytes);
  const Place place = place_of(a.groups);
  if (a.groups.columns == 0) {
    const bool is_there = place.group < a.outputs;
    join_rows<Fold>(is_there ? fold_terms<T, Fold>(a, place) : Fold::none(), place, a);
    return;
  }
  constexpr int n = columns_of_thread(sizeof(T));
  if constexpr (sizeof(State) <= kSmallStateBytes && n > 1) {
    if (a.is_packed != 0) {
      State states[n];
#pragma unroll
      for (State& s : states) s = Fold::none();
      if (place.group * n < a.outputs) fold_columns<T, Fold>(a, place, states);
      join_columns<Fold>(states, a);
      return;
    }
  }
  State states[1] = {Fold::none()};
  if (place.group < a.outputs) states[0] = fold_terms<T, Fold>(a, place);
  join_columns<Fold>(states, a);
}

// The kernels, one for each rule.
#define TENURE_REDUCTION(name, Fold)           \
  template <class T>                           \
  inline void name(const ReduceArguments& a) { \
    reduce_with<T, Fold<T>>(a);                \
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
