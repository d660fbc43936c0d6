#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/problem.h"

namespace tenure::planner::remat {

// Note [Cuts]
//
// Look at the first computation of a node v. All that v comes from was computed before it, all that
// comes from v will be computed after it. A result u of the former that one of the latter reads, or
// that is an output, is either in memory while v runs, or it is computed again later: once more
// than in a program that keeps it. So at least as much must be computed again as brings what is in
// memory down to the budget, and the cheapest way to choose it (in fractions, which is no dearer
// than whole results) bounds the added cost of every schedule.

/// A bound on the added cost, for any budget.
class CostBound {
 public:
  /// Looks at the nodes at which most may have to be in memory. Empty for very large programs.
  explicit CostBound(const Problem& problem);

  /// No word within the budget adds less.
  std::int64_t at(std::int64_t budget) const;

 private:
  struct Item {
    std::int64_t bytes;
    std::int64_t cost;
  };
  struct Cut {
    std::int64_t all = 0;     // bytes, if nothing is given up
    std::vector<Item> items;  // what may be given up, the cheapest for its bytes first
  };

  std::vector<Cut> cuts_;
};

}  // namespace tenure::planner::remat
