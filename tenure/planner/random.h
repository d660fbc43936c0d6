#pragma once

#include <cstdint>

namespace tenure::planner {

inline constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15U;  // of 2^64

/// How splitmix64 makes of each word one that looks like any other.
inline std::uint64_t scrambled(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// Numbers that are the same on every machine, which the standard's distributions do not promise:
/// `mix` of a counter.
template <std::uint64_t (*mix)(std::uint64_t)>
class MixedCounter {
 public:
  explicit MixedCounter(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() { return mix(state_++); }
  /// In [0, end).
  int below(int end) { return static_cast<int>(next() % static_cast<std::uint64_t>(end)); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::planner
