#pragma once

#include <cstdint>
#include <memory>

#include "tenure/graph/placement.h"

namespace tenure::graph {

/// A program and where everything in it lies.
struct Arranged {
  std::unique_ptr<Lowered> lowered;
  Placement placement;
  double recomputed = 0;  ///< see Plan
};

/// Keeps the inputs, `constants` bytes and what a run adds to them within `budget` bytes, computing
/// units again where it must. Throws planner::BudgetError.
Arranged arrange_within(std::unique_ptr<Lowered> lowered, std::int64_t budget,
                        std::int64_t constants);

/// Looks for the least peak at which what is computed again takes at most `share` of the rest.
Arranged arrange_cheaply(std::unique_ptr<Lowered> lowered, double share);

}  // namespace tenure::graph
