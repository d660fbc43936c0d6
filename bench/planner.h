#pragma once

#include <vector>

#include "bench/figure.h"

// The three problems of the planner, the parts of group "planner". All use one thread.

namespace tenure::bench {

void add_planner_offsets_cases(std::vector<Case>& cases);
void add_planner_order_cases(std::vector<Case>& cases);
void add_planner_remat_cases(std::vector<Case>& cases);

}  // namespace tenure::bench
