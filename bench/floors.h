#pragma once

#include <cstdint>
#include <string>

#include "bench/contest.h"

// What the machine can do at most, measured with the same clock in the same rounds as what is held
// against it.

namespace tenure::bench {

/// Fused multiply-adds on registers, on each of `threads` threads.
Entrant fma_peak(int threads);

/// A copy from one large buffer to another, by memcpy or past the caches, whichever was faster when
/// first asked for.
Entrant copy_bandwidth();

}  // namespace tenure::bench
