#pragma once

#include <cstdint>

#include "tenure/planner/random.h"

namespace tenure::planner::remat {

/// splitmix64: the same numbers on every platform, which the standard's distributions do not
/// promise.
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() { return scrambled(state_ += kGoldenRatio); }
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
