#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenure/graph/function.h"
#include "tenure/graph/run/cache.h"
#include "tenure/graph/run/executable.h"

namespace tenure::graph {

/// What a callable did when it was traced.
struct Traced {
  Traced() = default;
  Traced(Traced&&) = default;
  virtual ~Traced() = default;

  Program program;
  std::vector<Value> inputs;
  std::vector<Value> fetches;  ///< the results, then the assignments
  std::size_t returned = 0;    ///< how many of them are results
  std::shared_ptr<const void> frame;

  /// That it holds on the heap.
  virtual std::size_t bytes() const;
  /// Types and shapes that it was traced for; dimensions may be unknown.
  std::vector<ops::Spec> specs() const;
  /// For tensors of these types, shapes and strides (see Given), some of which the run may compute
  /// in (empty: none).
  std::shared_ptr<const Executable> compiled(std::span<const ops::Spec> specs,
                                             std::span<const Strides> strides,
                                             std::vector<bool> donated, Site site,
                                             const CompileOptions& options = {}) const;
};

/// Another way to trace a call than for its results alone.
struct TraceVariant {
  Signature key;       ///< tells it from other ones; not empty
  const char* reason;  ///< "called under a gradient tape"
  const char* other;   ///< what such a call has that differs from the one before by the key alone
  /// Traces for these types and shapes. Dimensions may be unknown; where it must know them, it
  /// traces for those of the call.
  std::function<std::shared_ptr<const Traced>(std::span<const ops::Spec>)> trace;
};

struct CompiledTrace {
  std::shared_ptr<const Traced> traced;
  std::shared_ptr<const Executable> executable;
};

/// Calls the callable with symbols of these types and shapes. Dimensions may be unknown. Throws
/// what it throws, and GraphError if it is being traced already on this thread.
Traced trace_call(const FunctionCore::Trace& callable, std::span<const ops::Spec> specs,
                  const void* function, const std::string& name, Site site);

/// What a trace alone holds counts as its cache's, which has a bound, and in the plans of what is
/// compiled of it.
void take_over_constants(const Program& program);

/// Marks a function as being traced on this thread. Throws GraphError if it is already: it calls
/// itself, and tracing would not end.
class TracingOnce {
 public:
  TracingOnce(const void* function, const std::string& name, Site site);
  ~TracingOnce();
  TracingOnce(const TracingOnce&) = delete;
  TracingOnce& operator=(const TracingOnce&) = delete;
};

}  // namespace tenure::graph
