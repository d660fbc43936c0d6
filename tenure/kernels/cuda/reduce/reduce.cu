#pragma once

#include "tenure/kernels/cuda/reduce/folds.cuh"
#include "tenure/kernels/cuda/reduce/statistics.cuh"

namespace tenure::kernels::cuda {

/// The terms of an output that are this lane's.
template <class T, class Fold>
inline typename Fold::State fold_terms(const ReduceArguments& a, const Place& place) {
  typename Fold::State s = Fold::none();
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * a.chunk;
  const std::int64_t end = begin + a.chunk < a.terms ? begin + a.chunk : a.terms;
  const std::int64_t from = offset_in(a.kept, place.group);
  if (a.reads_states != 0) {
    const auto* const states = static_cast<const typename Fold::State*>(a.in) + from;
    for (std::int64_t i = begin + place.lane; i < end; i += a.groups.lanes) {
      s = Fold::join(s, states[offset_in(a.reduced, i)]);
    }
    return s;
  }
  const T* const in = static_cast<const T*>(a.in) + from;
  if (a.is_packed != 0) {
    constexpr int kPack = Pack<T>::kSize;
#pragma unroll 2
    for (std::int64_t i = begin + place.lane * kPack; i < end; i += a.groups.lanes * kPack) {
      const Pack<T> pack = *reinterpret_cast<const Pack<T>*>(in + i);
#pragma unroll
      for (int k = 0; k < kPack; ++k) Fold::add(s, pack.of[k], i + k, a);
    }
  } else if (a.reduced.rank == 1) {
    const std::int64_t stride = a.reduced.strides[0];
#pragma unroll 4
    for (std::int64_t i = begin + place.lane; i < end; i += a.groups.lanes) {
      Fold::add(s, in[i * stride], i, a);
    }
  } else {
    for (std::int64_t i = begin + place.lane; i < end; i += a.groups.lanes) {
      Fold::add(s, in[offset_in(a.reduced, i)], i, a);
    }
  }
  return s;
}

template <class T, class Fold>
inline void reduce_with(const ReduceArguments& a) {
  using State = typename Fold::State;
  static_assert(sizeof(State) <= kStateBytes);
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.outputs;
  const State mine = is_there ? fold_terms<T, Fold>(a, place) : Fold::none();
  const State all =
      joined(mine, a.groups, [](const State& x, const State& y) { return Fold::join(x, y); });
  if (!is_there || place.lane != 0) return;
  if (a.writes_states != 0) {
    static_cast<State*>(a.out)[static_cast<std::int64_t>(blockIdx.y) * a.outputs + place.group] =
        all;
  } else {
    static_cast<typename Fold::Out*>(a.out)[place.group] = Fold::result(all, a);
  }
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
