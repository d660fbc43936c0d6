#pragma once

#include <cstdint>

namespace tenure::ops {

/// Evenly spaced numbers, for every device: kernels of GPUs include this too. Each half is counted
/// from its own end, so that both ends are exact.
struct Spacing {
  double start;
  double stop;
  double steps;
  double width;  ///< of all steps, in parts of `divisor`
  double divisor;

  double at(std::int64_t place, std::int64_t n) const {
    const auto i = static_cast<double>(place);
    return 2 * i < steps || n == 1 ? start + i * width / divisor
                                   : stop - (steps - i) * width / divisor;
  }
};

}  // namespace tenure::ops
