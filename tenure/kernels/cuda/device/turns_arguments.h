#pragma once

namespace tenure::kernels::cuda {

/// How many launches of a kernel may count blocks at the same time. Where a graph has more of them
/// they wait for each other.
inline constexpr unsigned kTurns = 8;

}  // namespace tenure::kernels::cuda
