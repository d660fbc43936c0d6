#pragma once

#include <memory>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Fuses, resolves views, and says which buffers there are.
std::unique_ptr<Lowered> lower(Request request);

}  // namespace tenure::graph
