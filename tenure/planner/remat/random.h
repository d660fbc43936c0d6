#pragma once

#include <cstdint>

namespace tenure::planner::remat {

/// splitmix64: the same numbers on every platform, which the standard's distributions do not
/// promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }
  /// In [0, count).
  int below(int count) {
    return static_cast<int>(((next() >> 32) * static_cast<std::uint64_t>(count)) >> 32);
  }
  /// In (0, 1].
  double unit() { return static_cast<double>((next() >> 11) + 1) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace tenure::planner::remat
