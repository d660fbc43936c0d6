#pragma once

#include <atomic>

#include "tenure/base/error.h"

namespace tenure {

/// Adds the calls that this thread is in to an error, under a heading. nullptr unless somebody
/// knows them, which memory/callers.h has more of. Errors that name their line themselves call it
/// when they are made: nobody further out has anything to add to them.
extern std::atomic<void (*)(Error&, const char* heading) noexcept> error_calls;

}  // namespace tenure
