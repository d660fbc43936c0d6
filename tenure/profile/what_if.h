#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat.h"
#include "tenure/profile/recorded.h"

namespace tenure::profile {

/// Something that is computed again instead of being kept.
struct ComputedAgain {
  std::uint32_t step = 0;  ///< of the recorded program that first computes it
  int times = 0;           ///< in addition
  std::int64_t bytes = 0;  ///< of its result
  std::int64_t cost = 0;   ///< of all those times, nanoseconds of a usual machine
};

/// What a budget would cost a compiled program.
struct WhatIf {
  std::int64_t budget = 0;
  bool fits = false;      ///< false: `peak` is the least that is known to suffice
  std::int64_t peak = 0;  ///< most bytes live at a time; gaps between buffers may add to it
  double added = 0;       ///< time of what is computed again, as a share of the rest; an estimate
  std::vector<ComputedAgain> again{};  ///< the most bytes first
};

/// A recorded program as planners see it, each unit once: nodes are units. Throws ValueError where
/// the recording does not have all of them.
planner::Dag dag_of(const RecordedPlan& plan);

/// For each budget what it costs, in one search: within the most bytes that a run adds to what is
/// live. The same recording gives the same answers, in about a second for some hundred steps.
/// Throws ValueError as above.
std::vector<WhatIf> what_if(const RecordedPlan& plan, const std::vector<std::int64_t>& budgets,
                            std::int64_t effort = 1);

/// The peak of a program as what_if() counts it: without gaps.
std::int64_t planned_peak(const RecordedPlan& plan);

}  // namespace tenure::profile
