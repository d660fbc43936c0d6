#pragma once

#include <span>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// For each node the last node of what it is computed in; itself where it is not fused. Elementwise
/// calls join the loop of their readers if all of those are in one, over one shape. They join a
/// kernel that alone reads them, as its first argument, and takes loops. Such a kernel joins the
/// loop that alone reads its result, one kernel to a loop. Which kernels do so is up to the device.
std::vector<std::int32_t> fuse(const Program& program, std::span<const Value> fetches,
                               Device device);

}  // namespace tenure::graph
