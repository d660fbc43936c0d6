#include "tenure/ops/recorder.h"

#include <utility>

namespace tenure::ops {
namespace {

thread_local Recorder* trace_of_thread = nullptr;

}  // namespace

std::shared_ptr<Recorder> recorder_of(const OpRecord& op, std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.is_scalar()) continue;
    const TensorBody* const body = operand.tensor().body_or_null();
    if (body != nullptr && body->symbol() != nullptr) {
      return body->symbol()->recorder(op.name, operand.site());
    }
  }
  if (!operands.empty()) return nullptr;
  return {std::shared_ptr<void>(), trace_of_thread};  // whoever traces keeps it
}

Recorder* current_trace() noexcept { return trace_of_thread; }

TraceScope::TraceScope(Recorder* recorder) noexcept
    : outer_(std::exchange(trace_of_thread, recorder)) {}

TraceScope::~TraceScope() { trace_of_thread = outer_; }

GraphScope::GraphScope(const Tensor& tensor, const char* user, Site site)
    : recorder_(trace_of_thread == nullptr && tensor.defined() && tensor.is_symbolic()
                    ? tensor.body(user, site).symbol()->recorder(user, site)
                    : nullptr),
      scope_(recorder_ != nullptr ? recorder_.get() : trace_of_thread) {}

}  // namespace tenure::ops
