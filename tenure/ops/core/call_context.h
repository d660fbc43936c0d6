#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include "tenure/tensor/dtype.h"

namespace tenure::nn {
struct LayerCall;
}

namespace tenure::ops {

class Recorder;
class Tape;

/// In which mode the calls of a thread are. Each field has one class that sets it for a while and
/// puts back what was there.
struct CallContext {
  /// The innermost tape that takes note of calls; nullptr: none does. Set by tapes
  /// (tenure/autograd) and Untaped.
  Tape* tape = nullptr;
  /// What records all calls; nullptr: those without symbols run now. Set by TraceScope
  /// (recorder.h).
  Recorder* trace = nullptr;
  /// The op in whose name calls are made; nullptr: each has its own. Set by ActingFor.
  const char* acting_op = nullptr;
  /// What ops that may compute in few bits do so in, by the precision of their records (Precision);
  /// float32: all compute in what they are given. Set by Autocast (ops/autocast.h), and off while
  /// gradient rules run.
  DType autocast = DType::float32;
  /// The number of the GraphScope, which no other has had; 0: there is none.
  std::uint64_t application = 0;
  /// The layer that is being applied, and by whom; nullptr: none is. See tenure/nn/layer_state.h.
  const nn::LayerCall* layer = nullptr;
};

extern constinit thread_local CallContext context_of_thread
    __attribute__((tls_model("initial-exec")));

inline CallContext& call_context() noexcept { return context_of_thread; }
inline Tape* current_tape() noexcept { return call_context().tape; }
inline Recorder* current_trace() noexcept { return call_context().trace; }
inline bool is_autocast() noexcept { return call_context().autocast != DType::float32; }
inline std::uint64_t current_application() noexcept { return call_context().application; }

/// While it lives, a field of the thread's context has another value.
template <auto field>
class ContextScope {
 public:
  using Value = std::remove_reference_t<decltype(std::declval<CallContext&>().*field)>;

  explicit ContextScope(Value value) noexcept
      : outer_(std::exchange(call_context().*field, value)) {}
  ~ContextScope() { call_context().*field = outer_; }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 private:
  Value outer_;
};

/// While it lives, no tape takes note of this thread's calls.
class Untaped : ContextScope<&CallContext::tape> {
 public:
  Untaped() noexcept : ContextScope(nullptr) {}
};

// Note: what is written in several ops
//
// Results and errors name the op that the user called. What calls other ops to do its work, a
// composite or index(), sets its own name while it runs, and their results and errors have that
// name. Calls on the shortest ways (two tensors, elementwise or with a direct kernel) do not ask.

/// While it lives, this thread's calls go under the name of `op`; an outer one's stays.
class ActingFor : ContextScope<&CallContext::acting_op> {
 public:
  explicit ActingFor(const char* op) noexcept
      : ContextScope(call_context().acting_op == nullptr ? op : call_context().acting_op) {}
};

}  // namespace tenure::ops
