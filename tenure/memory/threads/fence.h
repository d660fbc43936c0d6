#pragma once

#include <atomic>

namespace tenure::mem {

// Note: asymmetric fences
//
// Two protocols (pins in holders/tenant.h, births in holders/census.h) are Dekker-like: a frequent
// side stores a flag and then loads another, a rare side does the opposite, and each must see the
// other's store. That needs a full fence on both sides, about 20 cycles for the frequent one. Linux
// offers a better trade: membarrier(2) runs a full fence on every thread of the process, so the
// rare side pays for both and the frequent side only keeps the compiler from reordering.

/// Whether heavy_fence() works here. Where it does not (old kernels, some sandboxes, or the
/// environment has TENURE_NO_MEMBARRIER, which is for tests) the frequent side must use
/// sequentially consistent read-modify-writes instead.
bool has_asymmetric_fence() noexcept;

/// The frequent side's half.
inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// The rare side's half: orders all that every thread did before it.
void heavy_fence() noexcept;

}  // namespace tenure::mem
