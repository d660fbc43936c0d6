#pragma once

#include <span>

#include "tenure/kernels/view.h"
#include "tenure/ops/nn/update_rule.h"

namespace tenure::kernels {

using ops::UpdateRule;

/// One pass over memory: out[i] = in[i] changed, where the last of `in` is the gradient. All are
/// contiguous, of one shape and any floating types; out[i] has the type of in[i] and may be in its
/// memory. Computed in float32, in float64 if the parameter is of that type.
void update(const UpdateRule& rule, std::span<const View> in, std::span<const View> out);

}  // namespace tenure::kernels
