#pragma once

#include <memory>
#include <vector>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/passes/specialize.h"

namespace tenure::graph {

/// Gives calls whose attributes hold programs (ops/core/prepare.h) those programs compiled: the
/// bodies of branches and loops become a part of the program.
Request prepare(Request request);

/// What the bodies of a program were compiled into, each once.
std::vector<std::shared_ptr<const CompiledBodies>> compiled_bodies(const Program& program);

}  // namespace tenure::graph
