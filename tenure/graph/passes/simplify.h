#pragma once

#include "tenure/graph/passes/specialize.h"

namespace tenure::graph {

/// The same program with less to do: calls that change nothing are left out, calls on fixed
/// constants are made now if their results are small, and what nobody needs any more is dropped.
/// Every result stays the same to the last bit.
Request simplify(Request request);

}  // namespace tenure::graph
