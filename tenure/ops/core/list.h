#pragma once

#include <vector>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// The ops of the folders above, which all_ops() has after the others. In tenure/wiring.cpp.
std::vector<const OpRecord*> ops_from_above();

}  // namespace tenure::ops
