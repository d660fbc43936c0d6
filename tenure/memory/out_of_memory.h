#pragma once

#include <cstddef>

#include "tenure/base/error.h"

namespace tenure::mem {

class BudgetAccount;

/// Throws an OutOfMemory that lists the largest live holders. `refusing` may be null.
[[noreturn]] void throw_out_of_memory(OutOfMemory::Cause cause, std::size_t requested,
                                      const BudgetAccount* refusing);

}  // namespace tenure::mem
