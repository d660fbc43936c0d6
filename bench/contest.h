#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace tenure::bench {

/// Does the same thing n times. The loop is inside, so that a call through std::function does not
/// count against what is measured.
using Work = std::function<void(std::int64_t n)>;

template <class F>
Work repeat(F f) {
  return [f](std::int64_t n) mutable {
    for (std::int64_t i = 0; i < n; ++i) f();
  };
}

/// Keeps a compiler from dropping the computation of `value`.
template <class T>
void use(const T& value) {
  asm volatile("" : : "r"(&value) : "memory");
}

/// How a time becomes a figure: a time (less is better), or a rate of some amount per call.
struct Unit {
  const char* name;
  double scale;
  bool is_rate;
};
inline constexpr Unit kNanoseconds{"ns", 1e9, false};
inline constexpr Unit kMicroseconds{"us", 1e6, false};
inline constexpr Unit kMilliseconds{"ms", 1e3, false};
inline constexpr Unit kBandwidth{"GB/s", 1e-9, true};
inline constexpr Unit kFlops{"GFLOP/s", 1e-9, true};

struct Entrant {
  std::string name;
  Work work;                       ///< empty where it is not available
  double amount = 0;               ///< per call; 0: the same as ours
  std::optional<double> target{};  ///< the ratio that we want to reach
};

/// Tenure against others, all in the same unit.
struct Contest {
  std::string name;
  Unit unit;
  double amount = 1;  ///< bytes or operations of one call
  Work ours;
  std::vector<Entrant> peers{};
  std::string note{};
};

/// Lets the sides take turns, `rounds` times. Values are medians over the rounds; a ratio is the
/// median of the ratios within each round, which a machine that slows down for a while leaves as it
/// is. One figure per peer that is available, or one without a peer.
std::vector<Figure> run(const Contest& contest, const Options& options);

/// Seconds of one call for each of several works that take turns.
std::vector<double> median_seconds(const std::vector<Work>& works, int rounds);

double median(std::vector<double> values);

/// A figure without a peer that must not be above `limit`.
Figure at_most(std::string name, std::string unit, double value, double limit, std::string note);

}  // namespace tenure::bench
