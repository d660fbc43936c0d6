#pragma once

#include <cstdint>

#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// Throws what a call of within() says of an element outside of the range: of the input's type, in
/// the host's memory, and its number in the order of rows. In within.cpp.
[[noreturn]] void refuse_outside(const Kernel& k, const void* element, std::int64_t number);

}  // namespace tenure::ops
