#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "tenure/graph/executable.h"
#include "tenure/graph/function.h"

namespace tenure::autograd {

// Note: joint traces
//
// A function that a tape has to know of is traced together with its way back, in one graph: first
// the calls that the function makes, then, from placeholders for the gradients of its results, the
// ops of their gradient rules. The graph is then cut in two. Values of the first part that the
// second reads are what must be saved: arguments and what variables hold as they are, all else as
// further results of the first part. Views are made again rather than saved.

/// A function with its way back.
struct JointTrace {
  /// Something that the way back reads.
  struct Saved {
    bool is_result = false;  ///< of the forward part; else an argument or a variable
    std::size_t index = 0;
  };

  std::string name;
  /// Gives the results of the function, then what is saved of the rest.
  std::shared_ptr<const graph::Executable> forward;
  std::shared_ptr<const void> frame;
  std::vector<ops::Spec> output_specs;
  std::vector<std::size_t> differentiable_outputs;
  std::vector<std::shared_ptr<graph::VariableState>> variables;  ///< trainable ones that it reads
  std::vector<Saved> saved;
  /// What has a gradient: arguments, then variables, numbered through.
  std::vector<std::size_t> sources;
  std::vector<bool> has_gradient;  ///< of each source; else it is zero

  /// From the saved values and the gradients of differentiable outputs, those of the sources.
  std::vector<Tensor> go_back(std::vector<Tensor> arguments) const;

  graph::Program back;                        ///< the second part
  std::vector<graph::Value> back_arguments;   ///< its inputs
  std::vector<graph::Value> back_results;     ///< one for each source
  std::shared_ptr<graph::FunctionCore> core;  ///< of the second part
};

/// Traces `core`'s function on arguments like the call's, some of them watched.
std::shared_ptr<const JointTrace> make_joint_trace(graph::FunctionCore& core,
                                                   const graph::FunctionCore::Call& call,
                                                   const graph::FunctionCore::Trace& trace,
                                                   const std::vector<bool>& watched);

}  // namespace tenure::autograd
