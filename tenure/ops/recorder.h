#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "tenure/ops/attributes.h"
#include "tenure/ops/operand.h"
#include "tenure/ops/record.h"

namespace tenure::ops {

/// Takes note of calls instead of running them: the graph behind a symbolic tensor.
class Recorder {
 public:
  virtual ~Recorder() = default;
  /// The call's results, symbolic. Numbers and tensors with data among the operands become
  /// constants.
  virtual std::vector<Tensor> record(const OpRecord& op, std::span<const Operand> operands,
                                     const Attributes& attributes, Site site) = 0;
};

/// What records a call: the graph of a symbolic operand, else the trace that this thread is in, if
/// the call makes something from nothing. Null: the call runs now.
std::shared_ptr<Recorder> recorder_of(const OpRecord& op, std::span<const Operand> operands);

/// What records calls without operands on this thread; nullptr: they run now.
Recorder* current_trace() noexcept;

/// While it lives, this thread's calls without operands are recorded too.
class TraceScope {
 public:
  explicit TraceScope(Recorder* recorder) noexcept;
  ~TraceScope();
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Recorder* outer_;
};

/// The number of the GraphScope that this thread is in, which no other has had; 0: it is in none.
std::uint64_t current_application() noexcept;

/// While it lives, calls without operands, and variables, go where calls on `tensor` go: into the
/// graph of a symbol. Not while something is traced already: that takes in everything.
class GraphScope {
 public:
  GraphScope(const Tensor& tensor, const char* user, Site site);
  ~GraphScope();
  GraphScope(const GraphScope&) = delete;
  GraphScope& operator=(const GraphScope&) = delete;

 private:
  std::shared_ptr<Recorder> recorder_;
  TraceScope scope_;
};

}  // namespace tenure::ops
