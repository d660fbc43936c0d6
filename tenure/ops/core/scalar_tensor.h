#pragma once

#include "tenure/ops/core/operand.h"

namespace tenure::ops {

/// A tensor without axes of the number's own type, on a device. Errors are in the name of `op`.
Tensor scalar_tensor(const Scalar& scalar, Device device, const char* op, Site site);

}  // namespace tenure::ops
