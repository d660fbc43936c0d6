#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/problem.h"

namespace tenure::planner::remat {

struct Measure {
  std::int64_t cost = 0;
  std::int64_t peak = 0;
};

/// What a whole word costs and needs, in one walk from its end; a Timeline tells the same of a word
/// that changes.
Measure measure(const Problem& problem, const std::vector<int>& word);

/// Takes out steps whose result is not read, if the node is computed elsewhere too.
void remove_unread(const Problem& problem, std::vector<int>& word);

}  // namespace tenure::planner::remat
