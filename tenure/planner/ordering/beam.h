#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenure/planner/ordering/allowance.h"
#include "tenure/planner/ordering/net.h"

namespace tenure::planner::ordering {

struct BeamOptions {
  std::size_t width = 32;  ///< sets of done steps kept after each step
  /// How much a net that is nearly through counts for less, in 1/16: 0 ranks by the live bytes
  /// alone, 16 by those of members still to come.
  int credit = 0;
  std::int64_t noise = 0;  ///< chance moves the rank of a set by less than this
  std::uint64_t seed = 0;
};

/// An order whose peak is below `limit`, or nothing: after each step the sets that leave the least
/// live are kept.
std::optional<std::vector<int>> search_beam(const Net& net, std::int64_t limit,
                                            const BeamOptions& options, Allowance& allowance);

}  // namespace tenure::planner::ordering
