#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tenure/graph/trace/traced.h"

namespace tenure::autograd {

class TapeState;

// Note: joint traces
//
// A function that a tape has to know of is traced together with its way back, in one graph: first
// the calls that the function makes, then, from placeholders for the gradients of its results, the
// ops of their gradient rules. The graph is then cut in two. Values of the first part that the
// second reads are what must be saved: arguments, what variables hold and what the function
// captures as they are, all else as further results of the first part. Views are made again rather
// than saved.

/// A function with its way back. As a trace it gives the results of the function, then what is
/// saved of the rest.
struct JointTrace final : graph::Traced {
  /// Something that the way back reads.
  struct Saved {
    bool is_result = false;  ///< of the forward part; else it was known before: see sources
    std::size_t index = 0;
  };

  std::int64_t number = 0;  ///< of this one among all
  std::size_t outputs = 0;  ///< of the function
  std::vector<std::size_t> differentiable_outputs;
  std::vector<std::shared_ptr<graph::VariableState>> variables;  ///< that it reads
  std::vector<std::int32_t> captures;  ///< nodes of tensors with data that it reads
  /// Those that the tape around the call knew, by their ids.
  std::vector<std::int64_t> watched_captures;
  std::vector<Saved> saved;
  /// What its results depend on: arguments, then variables, then captures, numbered through.
  std::vector<std::size_t> sources;
  std::vector<bool> has_gradient;  ///< of each source; else it is zero

  /// The second part: from the saved values and the gradients of differentiable outputs, those of
  /// the sources.
  std::shared_ptr<const graph::Traced> back;

  std::size_t bytes() const override { return graph::Traced::bytes() + back->bytes(); }
  const Tensor& capture(std::size_t i) const {
    return program.nodes[static_cast<std::size_t>(captures[i])].data;
  }
  /// The ids of captures that a tape knows.
  std::vector<std::int64_t> known_captures(const TapeState& tape) const;
};

/// Traces `core`'s function on arguments like the call's, some of which, and of what it captures,
/// `outside` knows. Dimensions of `specs` may be unknown; if a custom gradient reads them, those of
/// the call count.
std::shared_ptr<const JointTrace> make_joint_trace(const graph::FunctionCore& core,
                                                   const graph::FunctionCore::Call& call,
                                                   const graph::FunctionCore::Trace& trace,
                                                   std::span<const ops::Spec> specs,
                                                   const TapeState& outside);

}  // namespace tenure::autograd
