#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/graph/unit.h"

namespace tenure::graph {

/// A program that computes some of its units more than once, to hold less at a time.
struct Rematerialized {
  std::unique_ptr<Lowered> lowered;  ///< in the order in which its units run
  double base_cost = 0;              ///< of each unit once, in nanoseconds of a usual machine
  double added_cost = 0;             ///< of the repetitions
};

/// Rewrites a program so that its arena and its outputs take at most `budget` bytes, as far as live
/// bytes tell: gaps between buffers are not in it. What variables get is taken to be computed in
/// their own memory. `search` is the effort: a second has some millions. Throws
/// planner::BudgetError.
Rematerialized rematerialize(const Lowered& lowered, std::int64_t budget, std::int64_t search);

/// The first thing that is wrong with it, or nothing: every unit of the original is there, each
/// copy does the same, and finds what it reads. It runs the program without its kernels.
std::optional<std::string> validate(const Lowered& original, const Lowered& rewritten);

}  // namespace tenure::graph
