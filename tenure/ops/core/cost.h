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

struct WorkRates;
/// What that takes on a device with such rates (backend.h).
double nanoseconds(const Cost& cost, const WorkRates& rates);

}  // namespace tenure::ops
