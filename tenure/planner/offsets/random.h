#pragma once

#include <cstdint>

#include "tenure/planner/random.h"

namespace tenure::planner::offsets {

/// A well-mixed function of its argument.
inline std::uint64_t mix(std::uint64_t x) { return scrambled(x + kGoldenRatio); }

using Random = MixedCounter<mix>;

}  // namespace tenure::planner::offsets
