#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "tenure/planner/dag.h"
#include "tenure/planner/lifetimes.h"
#include "tenure/planner/offsets.h"
#include "tenure/planner/remat.h"

// A complete arrangement: what is computed when and where it lies. `Fits' means that the arena
// fits: the resident bytes and the height of the offsets, not only what is live at a time.

namespace tenure::planner {

struct Arrangement {
  RematPlan schedule;
  Lifetimes lifetimes;    ///< of the schedule
  OffsetPlan offsets;     ///< of the lifetimes
  std::int64_t size = 0;  ///< what it takes: the resident bytes and the arena
};

/// The cheapest known arrangement that takes at most `budget` bytes. Monotone as plans are: what a
/// budget is granted, every larger one is granted, at no higher added cost. Throws what
/// rematerialize() throws; the least() of the BudgetError is the size of an arrangement that
/// exists, and every budget from there on is granted.
///
/// The order that was given in the options is among the arrangements, with an arena as low as
/// solve() finds: its size is granted, at no added cost.
///
/// With a deadline, what is granted is what is granted without one and with the usual number of
/// steps, or fewer, as far as there is time to know it; then the time is spent on making it
/// cheaper. If the time is over before it is known, the BudgetError is not final, and its least()
/// is granted with every deadline: it is the size of an arrangement that is known at once. In
/// remat/arrange.cpp.
Arrangement arrange(const Dag& dag, std::int64_t budget, const RematOptions& options = {});

/// The first thing that is wrong with an arrangement that is to stay within the budget, or nothing.
std::optional<std::string> validate(const Dag& dag, const Arrangement& arrangement,
                                    std::int64_t budget);

}  // namespace tenure::planner
