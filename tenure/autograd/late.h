#pragma once

#include "tenure/autograd/node.h"

namespace tenure::autograd {

// Note: gradients where sizes are unknown
//
// A gradient rule computes with the sizes of a call's inputs. Where one is known only when the
// graph runs, the whole way back through the call is one node, a composite: the rule runs when the
// sizes are known, and does what it does for eager calls of those sizes. The node reads what the
// rule declares that it reads; of other inputs it reads the outline, so that nothing is held for
// its sizes alone.

/// The op of such nodes, for the list of all ops.
std::vector<const ops::OpRecord*> gradient_ops();

/// Whether two shapes are equal, as far as their sizes are known.
bool may_be_equal(const Shape& a, const Shape& b);

/// Whether a tape holds the outline of an input that the rule does not read: its sizes are unknown.
bool is_outlined(const Tensor& input);

/// Whether the way back through a call must wait for sizes.
bool waits_for_sizes(const ops::Backward& b);

/// The way back through the call of a node, as one node of the graph.
void go_back_later(const Node& node, ops::Backward& b);

}  // namespace tenure::autograd
