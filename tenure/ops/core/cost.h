#pragma once

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// What a call costs, whatever machine it runs on.
struct Cost {
  double flops = 0;
  double bytes = 0;  ///< read and written, each input and output once
};

/// Of a call whose outputs are described too. A view costs nothing.
Cost cost_of(const OpRecord& op, const Kernel& kernel);

/// What such a call takes on a usual machine, in nanoseconds.
constexpr double usual_nanoseconds(const Cost& cost) {
  constexpr double kBegin = 500;
  constexpr double kFlops = 100;  // in a nanosecond
  constexpr double kBytes = 20;
  return kBegin + cost.flops / kFlops + cost.bytes / kBytes;
}

}  // namespace tenure::ops
