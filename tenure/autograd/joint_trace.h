#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "tenure/graph/traced.h"

namespace tenure::autograd {

// Note: joint traces
//
// A function that a tape has to know of is traced together with its way back, in one graph: first
// the calls that the function makes, then, from placeholders for the gradients of its results, the
// ops of their gradient rules. The graph is then cut in two. Values of the first part that the
// second reads are what must be saved: arguments and what variables hold as they are, all else as
// further results of the first part. Views are made again rather than saved.

/// A function with its way back. As a trace it gives the results of the function, then what is
/// saved of the rest.
struct JointTrace final : graph::Traced {
  /// Something that the way back reads.
  struct Saved {
    bool is_result = false;  ///< of the forward part; else an argument or a variable
    std::size_t index = 0;
  };

  std::int64_t number = 0;  ///< of this one among all
  std::size_t outputs = 0;  ///< of the function
  std::vector<std::size_t> differentiable_outputs;
  std::vector<std::shared_ptr<graph::VariableState>> variables;  ///< trainable ones that it reads
  std::vector<Saved> saved;
  /// What has a gradient: arguments, then variables, numbered through.
  std::vector<std::size_t> sources;
  std::vector<bool> has_gradient;  ///< of each source; else it is zero

  /// The second part: from the saved values and the gradients of differentiable outputs, those of
  /// the sources.
  std::shared_ptr<const graph::Traced> back;

  std::size_t bytes() const override { return graph::Traced::bytes() + back->bytes(); }
};

/// Traces `core`'s function on arguments like the call's, some of them watched. Dimensions of
/// `specs` may be unknown; if a custom gradient reads them, those of the call count.
std::shared_ptr<const JointTrace> make_joint_trace(const graph::FunctionCore& core,
                                                   const graph::FunctionCore::Call& call,
                                                   const graph::FunctionCore::Trace& trace,
                                                   std::span<const ops::Spec> specs,
                                                   const std::vector<bool>& watched);

}  // namespace tenure::autograd
