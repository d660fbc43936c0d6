#pragma once

#include "tenure/kernels/cuda/reduce/groups.cuh"
#include "tenure/kernels/cuda/reduce/reduce_arguments.h"

// Note: folds
//
// What a reduction makes of elements of T, as reduce.cu walks over them:
//
//   State                of a thread: plain data, a multiple of 4 bytes, at most kStateBytes
//   none()               that of no elements
//   add(state, x, i, a)  element i of an output's terms joins
//   join(a, b)           that of both; commutative
//   kRuns                where it is true, add_run(state, x) adds several terms that a thread has at
//                        hand, and is_finite(state) says whether that went well
//   Out, result(s, a)    what is written

namespace tenure::kernels::cuda {

template <class T>
inline constexpr bool kIsFloat = std::is_floating_point_v<Compute<T>>;
/// A number that elements are compared as, of 4 bytes at least.
template <class T>
using Compared = std::conditional_t<
    kIsFloat<T>, Compute<T>,
    std::conditional_t<std::is_same_v<T, std::int64_t>, std::int64_t, std::int32_t>>;

/// Terms that a thread has at hand, added in pairs: a term is in no more than log2(n) roundings.
template <int n, class C>
inline C paired_sum(const C* terms) {
  if constexpr (n == 1) {
    return terms[0];
  } else {
    return paired_sum<n / 2>(terms) + paired_sum<n - n / 2>(terms + n / 2);
  }
}

/// Of integers: modulo 2^64. Of floats in float64; runs of a few narrower ones are added as float32
/// first, which is a fraction of what a sum may be off: there are GPUs that add 64 times as many of
/// these. A run may overflow where the sum does not.
template <class T>
struct SumFold {
  using State = std::conditional_t<kIsFloat<T>, Total<T>, std::uint64_t>;
  using Out = std::conditional_t<kIsFloat<T>, T, std::int64_t>;
  static State none() { return State{}; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    if constexpr (kIsFloat<T>) {
      s.add(static_cast<double>(static_cast<Compute<T>>(x)));
    } else {
      s += static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    }
  }
  static constexpr bool kRuns = std::is_same_v<Compute<T>, float>;
  template <int n>
  static void add_run(State& s, const T (&x)[n]) {
    Compute<T> terms[n];
#pragma unroll
    for (int k = 0; k < n; ++k) terms[k] = x[k];
    s.add(paired_sum<n>(terms));
  }
  static bool is_finite(const State& s) { return s.sum - s.sum == 0; }
  static State join(const State& a, const State& b) {
    if constexpr (kIsFloat<T>) {
      return State::join(a, b);
    } else {
      return a + b;
    }
  }
  static Out result(const State& s, const ReduceArguments& a) {
    if constexpr (kIsFloat<T>) {
      return convert<T>(a.number == 1 ? s.value() : s.value() / a.number);
    } else {
      return static_cast<std::int64_t>(s);
    }
  }
};

/// Of integers, as float32. 2^32 terms of 32 bits cannot overflow a sum.
template <class T>
struct MeanFold {
  using State = std::conditional_t<std::is_same_v<T, std::int64_t>, Total<double>, std::int64_t>;
  using Out = float;
  static State none() { return State{}; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      s.add(static_cast<double>(x));
    } else {
      s += x;
    }
  }
  static State join(const State& a, const State& b) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return State::join(a, b);
    } else {
      return a + b;
    }
  }
  static Out result(const State& s, const ReduceArguments& a) {
    if constexpr (std::is_same_v<T, std::int64_t>) {
      return static_cast<float>(s.value() / a.number);
    } else {
      return static_cast<float>(static_cast<double>(s) / a.number);
    }
  }
};

template <class T>
struct ProdFold {
  using State = std::conditional_t<kIsFloat<T>, double, std::uint64_t>;
  using Out = std::conditional_t<kIsFloat<T>, T, std::int64_t>;
  static State none() { return 1; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    if constexpr (kIsFloat<T>) {
      s *= static_cast<double>(static_cast<Compute<T>>(x));
    } else {
      s *= static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
    }
  }
  static State join(State a, State b) { return a * b; }
  static Out result(State s, const ReduceArguments&) { return convert<Out>(s); }
};
/// The worst there is: what every element is better than, or equal to.
template <bool largest, class C>
inline C worst() {
  if constexpr (std::is_floating_point_v<C>) {
    return largest ? -std::numeric_limits<C>::infinity() : std::numeric_limits<C>::infinity();
  } else {
    return largest ? std::numeric_limits<C>::lowest() : std::numeric_limits<C>::max();
  }
}
/// Whether b takes the place of a: a NaN does, and stays.
template <bool largest, class C>
inline bool replaces(C b, C a) {
  return (largest ? b > a : b < a) || (b != b && a == a);
}

template <bool largest, class T>
struct ExtremumFold {
  using State = Compared<T>;
  using Out = T;
  static State none() { return worst<largest, State>(); }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    s = join(s, static_cast<State>(x));
  }
  static State join(State a, State b) { return replaces<largest>(b, a) ? b : a; }
  static Out result(State s, const ReduceArguments&) { return static_cast<T>(s); }
};
template <class T>
using MaxFold = ExtremumFold<true, T>;
template <class T>
using MinFold = ExtremumFold<false, T>;

template <bool all, class T>
struct TruthFold {
  using State = std::int32_t;
  using Out = bool;
  static State none() { return all ? 1 : 0; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    s = join(s, convert<bool>(x) ? 1 : 0);
  }
  static State join(State a, State b) { return all ? (a & b) : (a | b); }
  static Out result(State s, const ReduceArguments&) { return s != 0; }
};
template <class T>
using AnyFold = TruthFold<false, T>;
template <class T>
using AllFold = TruthFold<true, T>;

/// The first of equals.
template <bool largest, class T>
struct PlaceFold {
  struct State {
    Compared<T> value;
    std::int64_t index;
  };
  using Out = std::int64_t;
  static State none() {
    return {worst<largest, Compared<T>>(), std::numeric_limits<std::int64_t>::max()};
  }
  static void add(State& s, T x, std::int64_t i, const ReduceArguments&) {
    s = join(s, {static_cast<Compared<T>>(x), i});
  }
  static State join(const State& a, const State& b) {
    const bool same = a.value == b.value || (a.value != a.value && b.value != b.value);
    const bool better = same ? b.index < a.index : replaces<largest>(b.value, a.value);
    return better ? b : a;
  }
  static Out result(const State& s, const ReduceArguments&) { return s.index; }
};
template <class T>
using ArgMaxFold = PlaceFold<true, T>;
template <class T>
using ArgMinFold = PlaceFold<false, T>;

}  // namespace tenure::kernels::cuda
