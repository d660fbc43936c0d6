#pragma once

#include <cstdint>
#include <vector>

#include "tenure/graph/passes/specialize.h"

namespace tenure::graph {

// Note: when a loop joins the kernel that its input comes from
//
// The kernel then computes the loop's result, part by part, where its own would have lain. That
// takes no memory that the two would not take one after the other if, whatever the order, all else
// that the loop reads is there while the kernel runs: inputs, constants and variables are, and so
// is what the kernel depends on. But for results that are small, a loop that reads anything else
// stays alone. So does one that could be computed in the memory of a donated input or of what a
// variable held: the kernel needs that to its end.

/// For each node the last node of what it is computed in; itself where it is not fused. Elementwise
/// calls join the loop of their readers if all of those are in one, over one shape. They join a
/// kernel that alone reads them, as its first argument, and takes loops. Such a kernel joins the
/// loop that alone reads its result, one kernel to a loop. Which kernels do so is up to the device.
std::vector<std::int32_t> fuse(const Request& request);

}  // namespace tenure::graph
