#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/problem.h"

// Words to begin with, each in near-linear time.

namespace tenure::planner::remat {

/// What a run in a small memory gives up first.
struct EvictionRule {
  enum class By {
    distance,  ///< what is read last
    area,      ///< size times distance
    price,     ///< size times distance over cost
    segment    ///< all but every `stride`-th node
  };
  By by = By::price;
  int stride = 0;
};

/// Runs `order`, which ends in `problem.end`, within the budget: gives up results when memory is
/// short and computes them again when they are read. Empty if that fails or takes more than
/// `longest` steps.
std::vector<int> run_with_eviction(const Problem& problem, const std::vector<int>& order,
                                   std::int64_t budget, const EvictionRule& rule,
                                   std::int64_t longest);

/// The rules worth trying for a program of this size.
std::vector<EvictionRule> eviction_rules(const Problem& problem);

/// No word has a lower peak: the most that one step needs.
std::int64_t lower_bound(const Problem& problem);

}  // namespace tenure::planner::remat
