#pragma once

#include <vector>

#include "tenure/planner/ordering/net.h"

// Simple orders, each in near-linear time. Every plan is at least as good as the best of them.

namespace tenure::planner::ordering {

/// Steps as they become ready, the oldest first.
std::vector<int> breadth_first(const Net& net);

/// The newest ready step first.
std::vector<int> depth_first(const Net& net);

/// For each last step, what it needs and then itself; inputs with the most bytes first.
std::vector<int> post_order(const Net& net);

/// The ready step that frees most, less what it makes, first.
std::vector<int> list_schedule(const Net& net);

/// Least peak memory first: of the ready steps that stay below the peak so far the one that leaves
/// the least live; if there is none, the one that needs the least.
std::vector<int> least_peak_first(const Net& net);

}  // namespace tenure::planner::ordering
