#pragma once

#include <cstdint>

#include "tenure/planner/remat.h"

namespace tenure::planner {

/// A search of so many steps.
inline RematOptions quick(std::int64_t steps) {
  RematOptions options;
  options.steps = steps;
  return options;
}

}  // namespace tenure::planner
