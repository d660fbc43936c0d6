#pragma once

#include <cstdint>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Bytes below which no arrangement of a program has its peak (see peak_of), in whatever order,
/// however often and in however many parts it computes its units: what a run returns, and what a
/// single unit reads, makes and works in, less all that may lie in memory that was there before or
/// that an output has anyway.
std::int64_t least_conceivable(const Lowered& lowered);

}  // namespace tenure::graph
