#pragma once

#include <vector>

#include "tenure/planner/dag.h"
#include "tenure/planner/offsets.h"

namespace tenure::planner {

/// The memory that a schedule needs: a buffer for the result of each step, then one for each
/// workspace. Step i is the time from i to i + 1.
struct Lifetimes {
  OffsetProblem problem;
  std::vector<int> step;  ///< per buffer: the step that it is for
};

/// The lifetimes of a schedule: the nodes in the order in which they run, each once (OrderPlan) or
/// some again (RematPlan). A step reads the latest results of its inputs. A step that computes in
/// the memory of an input makes a group with it; what the input had more is a gap afterwards. So
/// the most that is alive at a time is the schedule's peak, less the resident bytes; the height of
/// an arena may be above it, where buffers leave holes (arrange.h). Throws ValueError if a step
/// runs before its inputs or a node does not run at all.
Lifetimes lifetimes_of(const Dag& dag, const std::vector<int>& schedule);

}  // namespace tenure::planner
