#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tenure/graph/passes/unit.h"
#include "tenure/ops/core/cost.h"
#include "tenure/planner/dag.h"

namespace tenure::graph {

/// Of one of its parts. Bodies of loops and branches have no say in it.
ops::Cost cost_of(const Unit& unit);

/// A program as the planner sees it, a node for each unit. Costs are nanoseconds of a usual
/// machine, or shares of days. The memory of outputs is there all the time; what variables get is
/// taken to be computed in their own. Gaps between buffers are not in it: what a schedule takes in
/// truth, its placement tells.
planner::Dag dag_of(const Lowered& lowered);

/// Of each unit; those of dag_of.
std::vector<std::int64_t> costs_of(const Lowered& lowered);

/// The same word, but a variable's new value is computed after the last step that reads the old
/// one, so that it can lie where that lies.
std::vector<int> with_late_updates(const Lowered& lowered, std::vector<int> word);

/// The program that computes its units as a word over them says, some of them more than once, to
/// hold less at a time: the last computation of a unit writes its buffers, those before write
/// buffers of their own.
std::unique_ptr<Lowered> repeat_units(const Lowered& lowered, const std::vector<int>& word);

/// What a program that repeats units of another, and has some in parts, costs more than each unit
/// once; in the unit of its dag_of.
std::int64_t added_cost(const Lowered& lowered, const Lowered& rewritten);

/// The first thing that is wrong with it, or nothing: every unit of the original is there, each
/// copy does the same, at once or in parts, and finds what it reads. It runs the program without
/// its kernels. In rewrite_validate.cpp, apart from what it judges.
std::optional<std::string> validate(const Lowered& original, const Lowered& rewritten);

}  // namespace tenure::graph
