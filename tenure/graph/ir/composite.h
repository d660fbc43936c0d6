#pragma once

#include <span>
#include <vector>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/ir/builder.h"

namespace tenure::graph {

// Note: composites in graphs
//
// A composite is written in other ops, and which ones may depend on sizes. On symbols whose sizes
// are known it is written out when it is called, and no graph has a node of it. Where a size is
// unknown it is one node, of a shape that holds for all sizes that it takes, and is written out
// when a program is specialized for the sizes of a run. What eager calls would do for those sizes
// is then what the run does: gradients of calls with unknown sizes are such nodes for that reason.

/// A composite call in terms of its ops, for inputs of known sizes. Throws what the call would
/// throw, and GraphError if it reads or assigns variables.
Body write_out(const ops::OpRecord& op, std::span<const ops::Spec> inputs,
               const ops::Attributes& attributes, Site site);

/// The results of a composite node of another program, written out into `builder`.
std::vector<Value> write_out_into(Builder& builder, const Node& node,
                                  std::span<const Argument> arguments);

}  // namespace tenure::graph
