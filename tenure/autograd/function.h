#pragma once

#include <optional>

#include "tenure/graph/function.h"

namespace tenure::autograd {

/// A call of a traced function under a tape: one node of the tape. The trace that serves it also
/// gives what the way back needs, and the way back is a traced function itself. Under nested tapes
/// the function's ops are run and noted one by one. nullopt: no tape has to know of the call.
std::optional<graph::FunctionCore::Result> call_taped(graph::FunctionCore& core,
                                                      const graph::FunctionCore::Call& call,
                                                      const graph::FunctionCore::Trace& trace);

}  // namespace tenure::autograd
