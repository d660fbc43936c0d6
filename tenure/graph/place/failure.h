#pragma once

#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Which steps may refuse elements when the units run in this order. A step that reads indices
/// which an earlier one has found in their bounds may not.
std::vector<bool> fallible_steps(const Lowered& lowered, const std::vector<int>& order);

}  // namespace tenure::graph
