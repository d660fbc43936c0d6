#pragma once

#include "tenure/kernels/cuda/places/small_nest.cuh"
#include "tenure/kernels/cuda/reduce/folds.cuh"

// What a thread makes of its terms. Several are on their way from memory before the first is used.

namespace tenure::kernels::cuda {

/// Elements that are read at once.
template <class T, int n>
struct alignas(n * sizeof(T)) Neighbours {
  T of[n];
};

/// Terms of this thread: strips of n neighbours, `step` apart, of those of the block.
struct LaneTerms {
  std::int64_t begin;
  std::int64_t end;
  std::int64_t step;

  LaneTerms(const ReduceArguments& a, const Place& place, int n) {
    const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * a.chunk;
    begin = first + static_cast<std::int64_t>(place.lane) * n;
    end = first + a.chunk < a.terms ? first + a.chunk : a.terms;
    step = static_cast<std::int64_t>(a.groups.lanes) * n;
  }
};

/// Calls `f` with a quick function from terms to where they lie. False: there is none.
template <class F>
inline bool with_places(const ReduceArguments& a, F f) {
  if (a.reduced.rank == 1) {
    f([stride = a.reduced.strides[0]](std::int64_t i) { return i * stride; });
    return true;
  }
  if (a.near_terms.rank == 0) return false;
  f([&](std::int64_t i) { return place_of_step(a.near_terms, static_cast<std::uint32_t>(i)); });
  return true;
}

/// Whether several terms may be added before they join.
template <class Fold>
inline constexpr bool kHasRuns = requires { requires Fold::kRuns; };

/// Calls `f(i, is_whole)` for batches of terms, each of `n` steps but for the last, of which `f`
/// has to look where it ends: `is_whole` is a std::bool_constant.
template <int n, class F>
inline void for_batches(const LaneTerms& terms, F f) {
  std::int64_t i = terms.begin;
#pragma unroll 1
  for (; i + (n - 1) * terms.step < terms.end; i += n * terms.step) {
    f(i, std::bool_constant<true>());
  }
  if (i < terms.end) f(i, std::bool_constant<false>());
}

/// Strips of several terms.
template <class Fold, class T, int n, class Load>
inline typename Fold::State fold_strips(const LaneTerms& terms, const ReduceArguments& a,
                                        Load load) {
  constexpr int kAtOnce = 4;
  typename Fold::State s = Fold::none();
  for_batches<kAtOnce>(terms, [&](std::int64_t i, auto is_whole) {
    Neighbours<T, n> strips[kAtOnce];
    const auto has = [&](int k) {
      return decltype(is_whole)::value || i + k * terms.step < terms.end;
    };
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (has(k)) strips[k] = load(i + k * terms.step);
    }
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if (!has(k)) break;
      if constexpr (kHasRuns<Fold>) {
        Fold::add_run(s, strips[k].of);
      } else {
#pragma unroll
        for (int j = 0; j < n; ++j) Fold::add(s, strips[k].of[j], i + k * terms.step + j, a);
      }
    }
  });
  return s;
}

/// Single terms of each of n neighbouring outputs: `load(i)` is term i of all of them.
template <class Fold, class T, int n, class Load>
inline void fold_singles(typename Fold::State (&states)[n], const LaneTerms& terms,
                         const ReduceArguments& a, Load load) {
  constexpr int kAtOnce = n > 1 || sizeof(T) > 4 ? 4 : sizeof(T) > 2 ? 8 : 16;
#pragma unroll
  for (int c = 0; c < n; ++c) states[c] = Fold::none();
  for_batches<kAtOnce>(terms, [&](std::int64_t i, auto is_whole) {
    Neighbours<T, n> rows[kAtOnce];
    const auto has = [&](int k) {
      return decltype(is_whole)::value || i + k * terms.step < terms.end;
    };
#pragma unroll
    for (int k = 0; k < kAtOnce; ++k) {
      if constexpr (kHasRuns<Fold>) rows[k] = {};  // which adds nothing
      if (has(k)) rows[k] = load(i + k * terms.step);
    }
    if constexpr (kHasRuns<Fold>) {
#pragma unroll
      for (int c = 0; c < n; ++c) {
        T run[kAtOnce];
#pragma unroll
        for (int k = 0; k < kAtOnce; ++k) run[k] = rows[k].of[c];
        Fold::add_run(states[c], run);
      }
    } else {
#pragma unroll
      for (int k = 0; k < kAtOnce; ++k) {
        if (!has(k)) break;
#pragma unroll
        for (int c = 0; c < n; ++c) Fold::add(states[c], rows[k].of[c], i + k * terms.step, a);
      }
    }
  });
}

/// Strips of n terms, one by one.
template <class Fold, class T, int n, class At>
inline typename Fold::State fold_slowly(const LaneTerms& terms, const ReduceArguments& a, At at) {
  typename Fold::State s = Fold::none();
#pragma unroll 1
  for (std::int64_t i = terms.begin; i < terms.end; i += terms.step) {
#pragma unroll 1
    for (int j = 0; j < n; ++j) Fold::add(s, *at(i + j), i + j, a);
  }
  return s;
}
/// Where a run was no finite number the terms are folded again: they may be.
template <class Fold, class T, int n, class At>
inline void fold_again(typename Fold::State& s, const LaneTerms& terms, const ReduceArguments& a,
                       At at) {
  if constexpr (kHasRuns<Fold>) {
    if (!Fold::is_finite(s)) s = fold_slowly<Fold, T, n>(terms, a, at);
  }
}

/// The terms of an output that are this lane's, read in strips if `strips`.
template <class T, class Fold, bool strips>
inline typename Fold::State fold_terms(const ReduceArguments& a, const Place& place) {
  constexpr int n = strips ? 16 / sizeof(T) : 1;
  typename Fold::State states[1];
  const T* const in = static_cast<const T*>(a.in) + offset_in(a.kept, place.group);
  const LaneTerms terms(a, place, n);
  const bool is_done = with_places(a, [&](auto place_of_term) {
    const auto at = [&](std::int64_t i) { return in + place_of_term(i); };
    const auto load = [&](std::int64_t i) {
      return *reinterpret_cast<const Neighbours<T, n>*>(at(i));
    };
    if constexpr (strips) {
      states[0] = fold_strips<Fold, T, n>(terms, a, load);
    } else {
      fold_singles<Fold, T>(states, terms, a, load);
    }
    fold_again<Fold, T, n>(states[0], terms, a, at);
  });
  if (is_done) return states[0];
  return fold_slowly<Fold, T, n>(terms, a,
                                 [&](std::int64_t i) { return in + offset_in(a.reduced, i); });
}

/// The terms of neighbouring outputs that are this lane's.
template <class T, class Fold, int n>
inline void fold_columns(const ReduceArguments& a, const Place& place,
                         typename Fold::State (&states)[n]) {
  const T* const in = static_cast<const T*>(a.in) + offset_in(a.kept, place.group * n);
  const LaneTerms terms(a, place, 1);
  const bool is_done = with_places(a, [&](auto place_of_term) {
    const auto at = [&](std::int64_t i) { return in + place_of_term(i); };
    fold_singles<Fold, T>(states, terms, a, [&](std::int64_t i) {
      return *reinterpret_cast<const Neighbours<T, n>*>(at(i));
    });
#pragma unroll
    for (int c = 0; c < n; ++c) {
      fold_again<Fold, T, 1>(states[c], terms, a, [&](std::int64_t i) { return at(i) + c; });
    }
  });
  if (is_done) return;
#pragma unroll
  for (int c = 0; c < n; ++c) {
    states[c] = fold_slowly<Fold, T, 1>(
        terms, a, [&](std::int64_t i) { return in + offset_in(a.reduced, i) + c; });
  }
}

}  // namespace tenure::kernels::cuda
