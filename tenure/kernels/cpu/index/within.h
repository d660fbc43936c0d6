#pragma once

#include "tenure/ops/core/record.h"

namespace tenure::kernels {

/// Throws the error of a call of within() whose input has an element outside of the range.
void check_within(const ops::Kernel& k);

}  // namespace tenure::kernels
