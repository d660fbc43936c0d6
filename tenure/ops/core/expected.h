#pragma once

#include <vector>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// What the record of an op says that a call gives.
std::vector<Reference> expected_of(const OpRecord& op, const std::vector<Reference>& in,
                                   const Attributes& attributes);

}  // namespace tenure::ops
