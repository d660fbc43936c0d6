#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tenure/memory/default_device.h"
#include "tenure/ops/core/attributes.h"
#include "tenure/ops/core/call_context.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// Takes note of calls instead of running them: the graph behind a symbolic tensor.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// The call's results, symbolic. Numbers and tensors with data among the operands become
  /// constants.
  virtual std::vector<Tensor> record(const OpRecord& op, std::span<const Operand> operands,
                                     const Attributes& attributes, Site site) = 0;
  /// Where what it writes down will run.
  virtual Device device() const = 0;
};

// Note: what a trace takes in
//
// While a thread traces, all its calls are recorded: those on symbols, those that make something
// from nothing, and those on tensors with data alone, which become captures that a run reads. So
// nothing is computed while a program is written down, what it captures is followed whatever is
// done with it, and random numbers are drawn by runs. The price is that no result can be looked at
// before: that is a SymbolError. Tensors with data that the traced code finds, or makes from
// numbers of the host, can be looked at as ever.

/// What records a call: the graph of a symbolic operand, else the trace that this thread is in.
/// Null: the call runs now.
std::shared_ptr<Recorder> recorder_of(const OpRecord& op, std::span<const Operand> operands);

/// Whether an operand has a size that is known only when its graph runs. A composite then is one
/// node, which is written out in its ops when the sizes are known.
bool has_unknown_size(std::span<const Operand> operands);

/// While it lives, this thread's calls are recorded, and tensors that are made from numbers of the
/// host are on the recorder's device; with nullptr calls run now.
class TraceScope : ContextScope<&CallContext::trace> {
 public:
  explicit TraceScope(Recorder* recorder) : ContextScope(recorder) {
    if (recorder != nullptr) device_.emplace(recorder->device());
  }

 private:
  std::optional<DeviceScope> device_;
};

/// While it lives, all calls, and variables, go where calls on `tensor` go: into the graph of a
/// symbol. Not while something is traced already: that takes in everything.
class GraphScope {
 public:
  GraphScope(const Tensor& tensor, const char* user, Site site);
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  std::shared_ptr<Recorder> recorder_;
  TraceScope trace_;
  ContextScope<&CallContext::application> application_;
};

}  // namespace tenure::ops
