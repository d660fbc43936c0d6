#pragma once

#include <cstdint>
#include <span>

#include "tenure/planner/ordering/allowance.h"
#include "tenure/planner/ordering/net.h"

namespace tenure::planner::ordering {

/// The most that some step needs for itself (what it reads, makes and works in) or that is live at
/// the start or at the end. No order has a lower peak.
std::int64_t step_bound(const Net& net);

/// A better bound, at least `known`: the least that can be live while a step runs, over all orders,
/// for the steps that need much in `order`. See Note [What must be live].
std::int64_t cut_bound(const Net& net, std::span<const int> order, std::int64_t known,
                       Allowance& allowance);

}  // namespace tenure::planner::ordering
