#pragma once

#include <vector>

#include "tenure/planner/dag.h"

namespace tenure::planner {

/// Nodes of which each reads the one before it and the first reads the last; empty if the inputs,
/// all of which must be nodes, make no cycle. In dag.cpp.
std::vector<int> find_cycle(const Dag& dag);

}  // namespace tenure::planner
