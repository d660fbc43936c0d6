#pragma once

#include <memory>
#include <span>

#include "tenure/graph/passes/specialize.h"
#include "tenure/graph/run/executable.h"

namespace tenure::graph {

/// All stages: specialize, simplify, prepare, lower, arrange. A run gives the first `returned`
/// of the fetches; the others are assignments.
std::shared_ptr<const Executable> compile(const Program& program, std::span<const Value> fetches,
                                          std::size_t returned, std::span<const Given> given,
                                          std::vector<bool> donated, Site site,
                                          const CompileOptions& options = {});

}  // namespace tenure::graph
