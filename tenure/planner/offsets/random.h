#pragma once

#include <cstdint>

namespace tenure::planner::packing {

/// A well-mixed function of its argument.
inline std::uint64_t mix(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

/// The same numbers on every machine.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(mix(seed)) {}

  std::uint64_t next() { return mix(state_++); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::planner::packing
