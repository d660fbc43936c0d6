#pragma once

#include <span>
#include <vector>

#include "tenure/graph/program.h"

namespace tenure::graph {

/// For each node the last node of the loop that it is computed in; itself where it is not fused.
/// Elementwise calls join the loop of their readers if all of those are in one, over one shape.
std::vector<std::int32_t> fuse(const Program& program, std::span<const Value> fetches);

}  // namespace tenure::graph
