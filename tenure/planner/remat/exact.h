#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/problem.h"

// Programs so small that every state can be visited. A state says of each node whether it was not
// computed yet, is in memory, or was computed and is not.

namespace tenure::planner::remat {

/// Programs of more nodes have too many states, 3 to the power of that.
inline constexpr int kMostExact = 10;

/// A word of least cost within the budget; empty if there is none. The program has at most
/// `kMostExact` nodes.
std::vector<int> cheapest_word(const Problem& problem, std::int64_t budget);

/// A word of least peak.
std::vector<int> leanest_word(const Problem& problem);

}  // namespace tenure::planner::remat
