#pragma once

#include <vector>

#include "tenure/ops/core/gradient.h"

namespace tenure::ops {

const OpRecord& layer_norm_record();
const OpRecord& rms_norm_record();
const OpRecord& batch_norm_record();  // in batch_norm.cpp

/// What layer_norm, rms_norm and their gradients normalize together of x: its last dimensions, as
/// many as the first attribute says. Throws ShapeError if there are not so many.
Shape normalized_shape(const char* op, const Shape& x, const Attributes& a);

/// How a gradient op of normalization, f(dy, x, weight or nothing) -> (dx, dweight, dbias or
/// nothing), is differentiated: `axes` were normalized together. In norm_second.cpp.
void norm_gradient_rule(Backward& b, const Axes& axes, bool rms, double epsilon);

}  // namespace tenure::ops
