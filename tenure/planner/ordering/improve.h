#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/ordering/allowance.h"
#include "tenure/planner/ordering/net.h"

namespace tenure::planner::ordering {

/// Lowers the peak of an order by solving windows around the peak anew, by beams of all kinds and,
/// where they are short, exactly. Stops at `bound`, after `patience` windows without success or
/// when the allowance is over. Returns the peak.
std::int64_t improve(const Net& net, std::vector<int>& order, std::int64_t bound, int patience,
                     std::uint64_t seed, Allowance& allowance);

}  // namespace tenure::planner::ordering
