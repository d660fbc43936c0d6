#pragma once

#include "tenure/kernels/cuda/reduce/groups.cuh"
#include "tenure/kernels/cuda/scan/scan_arguments.h"

namespace tenure::kernels::cuda {

// Rules: none() is what nothing comes to, of(x) what an element does, join two neighbours.

/// Integers wrap around.
template <class T>
using ScanNumber = std::conditional_t<std::is_floating_point_v<Compute<T>>, double, std::int64_t>;

template <class T>
inline ScanNumber<T> scan_number(T x) {
  return static_cast<ScanNumber<T>>(static_cast<Compute<T>>(x));
}

template <class T>
struct RunningSum {
  using Number = ScanNumber<T>;
  using State = Number;
  using Out = std::conditional_t<std::is_same_v<Number, double>, T, std::int64_t>;
  static State none() { return 0; }
  static State of(T x) { return scan_number(x); }
  static State join(State a, State b) {
    if constexpr (std::is_same_v<Number, double>) {
      return a + b;
    } else {
      return static_cast<State>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
    }
  }
  static Number value(State s) { return s; }
};

/// A product with an exponent of its own: that of a stretch may be out of the range of numbers
/// where the whole is not.
struct ScaledNumber {
  double fraction;
  std::int64_t exponent;

  static ScaledNumber of(double x) {
    int exponent = 0;
    const double fraction = x - x == 0 ? frexp(x, &exponent) : x;
    return {fraction, exponent};
  }
};
template <class T, class = ScanNumber<T>>
struct RunningProd {
  using State = std::int64_t;
  using Out = std::int64_t;
  static State none() { return 1; }
  static State of(T x) { return scan_number(x); }
  static State join(State a, State b) {
    return static_cast<State>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
  }
  static std::int64_t value(State s) { return s; }
};
template <class T>
struct RunningProd<T, double> {
  using State = ScaledNumber;
  using Out = T;
  static State none() { return {0.5, 1}; }
  static State of(T x) { return ScaledNumber::of(scan_number(x)); }
  static State join(const State& a, const State& b) {
    const ScaledNumber product = ScaledNumber::of(a.fraction * b.fraction);
    return {product.fraction, product.exponent + a.exponent + b.exponent};
  }
  static double value(const State& s) {
    const std::int64_t bounded = s.exponent > 4000 ? 4000 : s.exponent < -4000 ? -4000 : s.exponent;
    return ldexp(s.fraction, static_cast<int>(bounded));
  }
};

/// A NaN that is there stays.
template <bool largest, class T>
struct RunningExtremum {
  using State = ScanNumber<T>;
  using Out = T;
  static State none() {
    if constexpr (std::is_same_v<State, double>) {
      return largest ? -std::numeric_limits<double>::infinity()
                     : std::numeric_limits<double>::infinity();
    } else {
      return largest ? std::numeric_limits<State>::lowest() : std::numeric_limits<State>::max();
    }
  }
  static State of(T x) { return scan_number(x); }
  static State join(State a, State b) { return (largest ? a > b : a < b) || a != a ? a : b; }
  static State value(State s) { return s; }
};
template <class T>
using RunningMax = RunningExtremum<true, T>;
template <class T>
using RunningMin = RunningExtremum<false, T>;

/// What the lanes before this one of its group have, and what all have, joined in their order.
template <class State>
struct Before {
  State before;
  State all;
};
template <class Rule, class State>
inline Before<State> joined_before(const State& mine, const Groups& groups, unsigned lane) {
  __shared__ State room[2][kGroupThreads];
  const unsigned pitch = groups.columns != 0 ? kGroupThreads / groups.lanes : 1;
  const unsigned own = threadIdx.x;
  int now = 0;
  __syncthreads();  // the room may be in use from the last time
  room[now][own] = mine;
  __syncthreads();
  for (unsigned by = 1; by < groups.lanes; by *= 2) {
    room[1 - now][own] =
        lane >= by ? Rule::join(room[now][own - by * pitch], room[now][own]) : room[now][own];
    now = 1 - now;
    __syncthreads();
  }
  const unsigned last = own + (groups.lanes - 1 - lane) * pitch;
  return {lane > 0 ? room[now][own - pitch] : Rule::none(), room[now][last]};
}

template <class T, class Rule>
inline void scan_along(const ScanArguments& a) {
  using State = typename Rule::State;
  static_assert(sizeof(State) <= kTotalBytes);
  const Place place = place_of(a.groups);
  const bool is_there = place.group < a.columns;
  const std::int64_t column = is_there ? place.group : 0;
  const T* const in = static_cast<const T*>(a.in.data) + offset_in(a.in.columns, column);
  const std::int64_t begin = static_cast<std::int64_t>(blockIdx.y) * a.chunk;
  const std::int64_t end = begin + a.chunk < a.length ? begin + a.chunk : a.length;
  auto* const totals = static_cast<State*>(a.totals) + column * a.chunks;

  State carry = Rule::none();
  if (a.totals != nullptr && a.writes_totals == 0) {
    State own = Rule::none();
    for (std::int64_t i = place.lane; is_there && i < blockIdx.y; i += a.groups.lanes) {
      own = Rule::join(own, totals[i]);
    }
    carry = joined(own, a.groups, [](const State& p, const State& q) { return Rule::join(p, q); });
  }
  const std::int64_t tile = static_cast<std::int64_t>(a.groups.lanes) * kScanItems;
  for (std::int64_t from = begin; from < end; from += tile) {
    State items[kScanItems];
    State running = Rule::none();
    const std::int64_t first = from + static_cast<std::int64_t>(place.lane) * kScanItems;
#pragma unroll
    for (int j = 0; j < kScanItems; ++j) {
      if (is_there && first + j < end) {
        running = Rule::join(running, Rule::of(in[(first + j) * a.in.step]));
      }
      items[j] = running;
    }
    const Before<State> lanes = joined_before<Rule>(running, a.groups, place.lane);
    const State before = Rule::join(carry, lanes.before);
    carry = Rule::join(carry, lanes.all);
    if (!is_there || a.writes_totals != 0) continue;
    auto* const out =
        static_cast<typename Rule::Out*>(a.out.data) + offset_in(a.out.columns, column);
#pragma unroll
    for (int j = 0; j < kScanItems; ++j) {
      if (first + j >= end) break;
      out[(first + j) * a.out.step] =
          convert<typename Rule::Out>(Rule::value(Rule::join(before, items[j])));
    }
  }
  if (is_there && a.writes_totals != 0 && place.lane == 0) totals[blockIdx.y] = carry;
}

template <class T>
inline void running_sum(const ScanArguments& a) {
  scan_along<T, RunningSum<T>>(a);
}
template <class T>
inline void running_prod(const ScanArguments& a) {
  scan_along<T, RunningProd<T>>(a);
}
template <class T>
inline void running_max(const ScanArguments& a) {
  scan_along<T, RunningMax<T>>(a);
}
template <class T>
inline void running_min(const ScanArguments& a) {
  scan_along<T, RunningMin<T>>(a);
}

}  // namespace tenure::kernels::cuda
