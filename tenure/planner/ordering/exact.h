#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/ordering/allowance.h"
#include "tenure/planner/ordering/net.h"

namespace tenure::planner::ordering {

struct ExactResult {
  std::vector<int> order;  ///< of least peak, if that is below the limit; else empty
  std::int64_t peak = 0;   ///< of `order`
  std::int64_t bound = 0;  ///< no order has a lower peak than this or the limit, if that is less
  bool complete = false;   ///< the search was not cut short: `order` is best, or none is below
};

/// Looks for the order of least peak among those below `limit`, given that none is below `bound`;
/// gives up after `states` sets of done steps.
ExactResult search_exactly(const Net& net, std::int64_t limit, std::int64_t bound,
                           std::int64_t states, Allowance& allowance);

}  // namespace tenure::planner::ordering
