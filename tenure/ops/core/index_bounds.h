#pragma once

#include <span>

#include "tenure/ops/core/backend.h"
#include "tenure/tensor/tensor.h"

namespace tenure::ops {

/// The range of a tensor's integers: as it was noted (tensor/integer_notes.h), else as the device
/// says, which is noted then. For devices that wait for indices.
IntegerRange integers_of(const Pin& pin, Backend& device);

/// Whether indices are in bounds, if they are of a type for them.
bool hold(const IndexBound& bound, const Pin& pin, Backend& device);

}  // namespace tenure::ops
