#pragma once

#include "tenure/ops/core/operand.h"

namespace tenure::ops {

/// What an op says of an element that it refuses.
struct Requirement {
  const char* op;
  const char* subject = "";  ///< before the element: "class "
  bool is_index = false;     ///< IndexError instead of ValueError
};

/// within(), for composites: an error speaks of the op that the user has called.
Tensor within(const Operand& x, double low, double high, const Requirement& requirement);

}  // namespace tenure::ops
