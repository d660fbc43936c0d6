#pragma once

#include "tenure/ops/core/composite.h"
#include "tenure/ops/linalg/solving.h"

namespace tenure::ops {

/// What Fourier transforms that are written in other ops share.
struct FourierComposite : CompositeOp {
  static constexpr auto family = "Fourier transforms";
  static constexpr auto types = kSolvedTypes;
};

/// Throws ShapeError if the last axis has no pairs. In composites.cpp.
void require_pairs(const Operand& x, const char* op);

}  // namespace tenure::ops
