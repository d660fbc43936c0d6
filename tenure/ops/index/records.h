#pragma once

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// Attributes starts, counts, steps and new axes, as in IndexPlan.
const OpRecord& index_view_op();
/// Inputs x and tensors of indices; attribute axes, one for each tensor. Their common axes come
/// first in the result.
const OpRecord& index_gather_op();
/// Inputs x, values and tensors of indices; attributes starts, counts and steps of a part of x, and
/// the axes of that part that the tensors choose along. The values broadcast to the shape [common
/// axes of the tensors.., other axes of the part..].
const OpRecord& index_update_op();
const OpRecord& index_add_op();

}  // namespace tenure::ops
