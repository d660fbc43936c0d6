#pragma once

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// Throws DTypeError unless inputs [0, count) have one element type.
void require_same_type(const Kernel& k, std::size_t count);
inline void require_same_type(const Kernel& k) { require_same_type(k, k.in.size()); }

}  // namespace tenure::ops
