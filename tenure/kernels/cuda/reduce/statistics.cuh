#pragma once

#include "tenure/kernels/cuda/reduce/folds.cuh"

// Folds of floats (folds.cuh) that take more than one number along.

namespace tenure::kernels::cuda {

/// Mean and sum of squared deviations, in one pass. Float64 has them updated by each element; of
/// narrower floats float64 holds differences from the first one well enough, and saves a division.
template <class T>
struct VarianceFold {
  struct State {
    double count;
    double center;
    double sum;      ///< of differences from it
    double squares;  ///< of them
  };
  using Out = T;
  static State none() { return {0, 0, 0, 0}; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    const auto value = static_cast<double>(static_cast<Compute<T>>(x));
    if constexpr (std::is_same_v<T, double>) {
      s.count += 1;
      const double difference = value - s.center;
      s.center += difference / s.count;
      s.squares += difference * (value - s.center);
    } else {
      if (s.count == 0) s.center = value;
      s.count += 1;
      const double difference = value - s.center;
      s.sum += difference;
      s.squares += difference * difference;
    }
  }
  static State join(const State& first, const State& second) {
    if (first.count == 0) return second;
    if (second.count == 0) return first;
    const State a = centered(first);
    const State b = centered(second);
    const double count = a.count + b.count;
    const double difference = b.center - a.center;
    return {count, (a.count * a.center + b.count * b.center) / count, 0,
            a.squares + b.squares + difference * difference * (a.count * b.count / count)};
  }
  static Out result(const State& s, const ReduceArguments& a) {
    const double left = s.count - a.number;
    const double variance = (s.count == 0 ? 0 : centered(s).squares) / (left > 0 ? left : 0);
    return convert<T>(a.root != 0 ? std::sqrt(variance) : variance);
  }
  /// With the mean as its center.
  static State centered(const State& s) {
    const double step = s.sum / s.count;
    return {s.count, s.center + step, 0, s.squares - s.sum * step};
  }
};

template <class T>
struct LogSumExpFold {
  using State = ExpTotal<Compute<T>>;
  using Out = T;
  static State none() { return State::none(); }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    s.add(static_cast<Compute<T>>(x));
  }
  static State join(const State& a, const State& b) { return State::join(a, b); }
  static Out result(const State& s, const ReduceArguments&) { return convert<T>(s.log_value()); }
};

/// The root of the sum of squares. Those of narrow floats are in the range of float64; float64 has
/// three sums, of what is small, usual and large, of which two are scaled.
template <class T>
struct NormFold {
  using State = double;
  using Out = T;
  static State none() { return 0; }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    const auto value = static_cast<double>(static_cast<Compute<T>>(x));
    s += value * value;
  }
  static State join(State a, State b) { return a + b; }
  static Out result(State s, const ReduceArguments&) { return convert<T>(std::sqrt(s)); }
};
template <>
struct NormFold<double> {
  struct State {
    double small;
    double usual;
    double large;
  };
  using Out = double;
  static constexpr double kSmall = 0x1p-486;
  static constexpr double kLarge = 0x1p486;
  static constexpr double kUp = 0x1p600;
  static constexpr double kDown = 0x1p-600;
  static State none() { return {0, 0, 0}; }
  static void add(State& s, double x, std::int64_t, const ReduceArguments&) {
    const double magnitude = x < 0 ? -x : x;
    if (magnitude > kLarge) {
      s.large += (x * kDown) * (x * kDown);
    } else if (magnitude < kSmall) {
      s.small += (x * kUp) * (x * kUp);
    } else {  // and no number
      s.usual += x * x;
    }
  }
  static State join(const State& a, const State& b) {
    return {a.small + b.small, a.usual + b.usual, a.large + b.large};
  }
  static Out result(const State& s, const ReduceArguments&) {
    if (s.usual != s.usual) return s.usual;
    if (s.large > 0) return std::sqrt(s.large + s.usual * kDown * kDown) * kUp;
    if (s.usual > 0) return std::sqrt(s.usual + s.small * kDown * kDown);
    return std::sqrt(s.small) * kDown;
  }
};

/// The norm of an order that is neither 2 nor infinite; 0 counts what is not zero.
template <class T>
struct PowerNormFold {
  using State = Total<T>;
  using Out = T;
  static State none() { return State::none(); }
  static void add(State& s, T x, std::int64_t, const ReduceArguments& a) {
    using C = Compute<T>;
    const C value = static_cast<C>(x);
    const C magnitude = value < 0 ? -value : value;
    if (a.number == 1) {
      s.add(static_cast<double>(magnitude));
    } else if (a.number == 0) {
      s.add(magnitude == 0 ? 0 : 1);
    } else {
      s.add(static_cast<double>(std::pow(magnitude, static_cast<C>(a.number))));
    }
  }
  static State join(const State& a, const State& b) { return State::join(a, b); }
  static Out result(const State& s, const ReduceArguments& a) {
    if (a.terms == 0) return convert<T>(0.0);
    const double sum = s.value();
    return convert<T>(a.number == 1 || a.number == 0 ? sum : std::pow(sum, 1 / a.number));
  }
};

/// The largest or the smallest magnitude; 0 of nothing.
template <bool largest, class T>
struct MagnitudeFold {
  using State = Compute<T>;
  using Out = T;
  static State none() { return worst<largest, State>(); }
  static void add(State& s, T x, std::int64_t, const ReduceArguments&) {
    const State value = static_cast<State>(x);
    s = join(s, value < 0 ? -value : value);
  }
  static State join(State a, State b) { return replaces<largest>(b, a) ? b : a; }
  static Out result(State s, const ReduceArguments& a) {
    return convert<T>(a.terms == 0 ? State(0) : s);
  }
};
template <class T>
using LargestNormFold = MagnitudeFold<true, T>;
template <class T>
using SmallestNormFold = MagnitudeFold<false, T>;

}  // namespace tenure::kernels::cuda
