#pragma once

#include <memory>
#include <span>

#include "tenure/graph/executable.h"
#include "tenure/graph/passes/specialize.h"

namespace tenure::graph {

/// All stages: specialize, simplify, fuse, order, assign offsets.
std::shared_ptr<const Executable> compile(const Program& program, std::span<const Value> fetches,
                                          std::span<const Given> given, Site site);

}  // namespace tenure::graph
