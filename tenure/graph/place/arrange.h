#pragma once

#include <cstdint>
#include <memory>

#include "tenure/graph/place/placement.h"

namespace tenure::graph {

/// A program and where everything in it lies.
struct Arranged {
  std::unique_ptr<Lowered> lowered;
  Placement placement;
  double recomputed = 0;  ///< see Plan
};

/// Orders a program's units and gives everything its place, by the options of its request.
///
/// With a budget, the inputs, `constants` bytes and what a run adds to them are at most that; units
/// are computed again and run in parts where they must. What is promised:
///
/// - The budget is held, or refused with a planner::BudgetError, whose least() is the peak of a
///   complete arrangement that exists: every budget from there on is held.
/// - A larger budget never adds more time, by the estimate of the costs, for what is computed again
///   and for running in parts.
/// - bound() is proven, is the same in every call, and is at most least().
/// - All this depends on the program and the effort alone: not on load or time, on which budgets
///   came before, on the instruction set, on where variables lie, or on the number of threads. A
///   kernel whose workspace grows with the threads gets room for as many as the budget leaves; one
///   in the body of a loop or a branch has room for those that there were when it was compiled.
/// - A higher effort never refuses a budget that a lower one holds, nor adds more time.
///
/// Without one, it is the arrangement of the least peak known that adds at most the share
/// `recompute` to the time of the rest; a budget of that peak costs no more. Up to kNearlyFree
/// (renew.h) nothing is searched for.
Arranged arrange(std::unique_ptr<Lowered> lowered, std::int64_t constants);

}  // namespace tenure::graph
