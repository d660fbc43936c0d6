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

/// Where term i lies, of more than one loop: a function, as divisions of 64 bits are long.
__noinline__ inline std::int64_t far_place(const Walk& walk, std::int64_t i) {
  return offset_in(walk, i);
}
/// Calls `f` with a function from terms to where they lie.
template <class F>
inline void with_places(const Walk& walk, F f) {
  if (walk.rank == 1) {
    f([stride = walk.strides[0]](std::int64_t i) { return i * stride; });
  } else {
    f([&](std::int64_t i) { return far_place(walk, i); });
  }
}

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
  constexpr int kAtOnce = sizeof(T) > 4 ? 4 : most_run(sizeof(T));
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
template <class Fold, class T, class Load>
inline void add_packs(typename Fold::State& s, const Terms& terms, const Place& place,
                      const ReduceArguments& a, Load load) {
  constexpr int kPack = Pack<T>::kSize;
  constexpr int kRun = kPack < most_run(sizeof(T)) ? kPack : most_run(sizeof(T));
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
  const T* const in = static_cast<const T*>(a.in) + far_place(a.kept, place.group);
  with_places(a.reduced, [&](auto place_of_term) {
    if (a.is_packed != 0 && a.groups.columns == 0) {
      add_packs<Fold, T>(s, terms, place, a, [&](std::int64_t i) {
        return *reinterpret_cast<const Pack<T>*>(in + place_of_term(i));
      });
    } else {
      add_singles<Fold, T>(s, terms, place, a,
                           [&](std::int64_t i) { return in[place_of_term(i)]; });
    }
  });
  return s;
}

/// Neighbours that are read at once.
template <class T, int n>
struct alignas(n * sizeof(T)) Neighbours {
  T of[n];
};

/// The terms of neighbouring outputs that are this lane's: `load(i)` is term i of each.
template <class T, class Fold, int n, class Load>
inline void add_columns(typename Fold::State (&states)[n], const Terms& terms, const Place& place,
                        const ReduceArguments& a, Load load) {
  constexpr int kAtOnce = 4;
  const std::int64_t step = a.groups.lanes;
  std::int64_t i = terms.begin + place.lane;
  for (; i + (kAtOnce - 1) * step < terms.end; i += kAtOnce * step) {
    Neighbours<T, n> rows[kAtOnce];
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
    const Neighbours<T, n> row = load(i);
#pragma unroll
    for (int c = 0; c < n; ++c) Fold::add(states[c], row.of[c], i, a);
  }
}
template <class T, class Fold, int n>
inline void fold_columns(const ReduceArguments& a, const Place& place,
                         typename Fold::State (&states)[n]) {
  const T* const in = static_cast<const T*>(a.in) + far_place(a.kept, place.group * n);
  with_places(a.reduced, [&](auto place_of_term) {
    add_columns<T, Fold>(states, Terms(a), place, a, [&](std::int64_t i) {
      return *reinterpret_cast<const Neighbours<T, n>*>(in + place_of_term(i));
    });
  });
}

}  // namespace tenure::kernels::cuda
