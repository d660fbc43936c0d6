#pragma once

#include <vector>

#include "tenure/graph/place/ladder.h"

namespace tenure::graph {

/// Arrangements that run units in parts (passes/split.h), each lower than a rung of the ladder that
/// it begins with. They depend on the program and the ladder alone.
///
/// The search looks at the step that holds the most. Units around it become a group, as many as
/// make the step smaller; and a group that reads what is held meanwhile computes it again itself,
/// part by part. What lowers the peak most is done, and looked at again.
std::vector<Rung> rungs_in_parts(const Lowered& lowered, const Ladder& ladder);

}  // namespace tenure::graph
