#pragma once

#include "tenure/kernels/cuda/reduce/folds.cuh"

// What a thread makes of its terms. Several are on their way from memory before the first is used.

namespace tenure::kernels::cuda {

/// Those of a block.
struct Terms {
  std::int64_t begin;
  std::int64_t end;

  explicit Terms(const ReduceArguments& a)
      : begin(static_cast<std::int64_t>(blockIdx.y) * a.chunk),
        end(begin + a.chunk < a.terms ? begin + a.chunk : a.terms) {}
};

/// Terms i, i + step, i + 2 step ... join.
template <class Fold, class T, int n>
inline void add_terms(typename Fold::State& s, const T (&x)[n], std::int64_t i, std::int64_t step,
                      const ReduceArguments& a) {
  if constexpr (requires { Fold::add_run(s, x); }) {
    Fold::add_run(s, x);
  } else {
#pragma unroll
    for (int k = 0; k < n; ++k) Fold::add(s, x[k], i + k * step, a);
  }
}

/// Terms one by one: `load(i)` is term i.
template <class Fold, class T, class Load>
inline void add_singles(typename Fold::State& s, const Terms& terms, const Place& place,
                        const ReduceArguments& a, Load load) {
  constexpr int kAtOnce = sizeof(T) <= 4 ? 8 : 4;
  const std::int64_t step = a.groups.lanes;
  std::int64_t i = terms.begin + place.lane;
  for (; i + (kAtOnce - 1) * step < terms.end; i += kAtOnce * step) {
    T x[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) x[k] = load(i + k * step);
    add_terms<Fold>(s, x, i, step, a);
  }
  for (; i < terms.end; i += step) Fold::add(s, load(i), i, a);
}

/// Terms by packs of neighbours.
template <class Fold, class T>
inline void add_packs(typename Fold::State& s, const T* in, const Terms& terms, const Place& place,
                      const ReduceArguments& a) {
  constexpr int kPack = Pack<T>::kSize;
  constexpr int kRun = kPack < kMostRun ? kPack : kMostRun;
  constexpr int kAtOnce = 4;
  const std::int64_t step = static_cast<std::int64_t>(a.groups.lanes) * kPack;
  const auto add = [&](const Pack<T>& pack, std::int64_t i) {
#pragma unroll
    for (int r = 0; r < kPack; r += kRun) {
      T run[kRun];
#pragma unroll
      for (int k = 0; k < kRun; ++k) run[k] = pack.of[r + k];
      add_terms<Fold>(s, run, i + r, 1, a);
    }
  };
  const auto load = [&](std::int64_t i) {
    return *reinterpret_cast<const Pack<T>*>(in + offset_in(a.reduced, i));
  };
  std::int64_t i = terms.begin + place.lane * kPack;
  for (; i + (kAtOnce - 1) * step < terms.end; i += kAtOnce * step) {
    Pack<T> packs[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) packs[k] = load(i + k * step);
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) add(packs[k], i + k * step);
  }
  for (; i < terms.end; i += step) add(load(i), i);
}

/// The terms of an output that are this lane's.
template <class T, class Fold>
inline typename Fold::State fold_terms(const ReduceArguments& a, const Place& place) {
  typename Fold::State s = Fold::none();
  const Terms terms(a);
  const T* const in = static_cast<const T*>(a.in) + offset_in(a.kept, place.group);
  if (a.is_packed != 0 && a.groups.columns == 0) {
    add_packs<Fold>(s, in, terms, place, a);
  } else if (a.reduced.rank == 1) {
    const std::int64_t stride = a.reduced.strides[0];
    add_singles<Fold, T>(s, terms, place, a, [&](std::int64_t i) { return in[i * stride]; });
  } else {
    add_singles<Fold, T>(s, terms, place, a,
                         [&](std::int64_t i) { return in[offset_in(a.reduced, i)]; });
  }
  return s;
}

/// The terms of neighbouring outputs that are this lane's.
template <class T, class Fold, int n>
inline void fold_columns(const ReduceArguments& a, const Place& place,
                         typename Fold::State (&states)[n]) {
  struct alignas(n * sizeof(T)) Columns {
    T of[n];
  };
  constexpr int kAtOnce = 4;
  const Terms terms(a);
  const T* const in = static_cast<const T*>(a.in) + offset_in(a.kept, place.group * n);
  const std::int64_t step = a.groups.lanes;
  const auto load = [&](std::int64_t i) {
    return *reinterpret_cast<const Columns*>(in + offset_in(a.reduced, i));
  };
  std::int64_t i = terms.begin + place.lane;
  for (; i + (kAtOnce - 1) * step < terms.end; i += kAtOnce * step) {
    Columns rows[kAtOnce];
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) rows[k] = load(i + k * step);
#pragma unroll
    for (int c = 0; c < n; ++c) {
      T x[kAtOnce];
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) x[k] = rows[k].of[c];
      add_terms<Fold>(states[c], x, i, step, a);
    }
  }
  for (; i < terms.end; i += step) {
    const Columns row = load(i);
#pragma unroll
    for (int c = 0; c < n; ++c) Fold::add(states[c], row.of[c], i, a);
  }
}

}  // namespace tenure::kernels::cuda
