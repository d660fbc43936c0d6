#include "tenure/ops/recorder.h"

#include <atomic>
#include <utility>

namespace tenure::ops {
namespace {

thread_local Recorder* trace_of_thread = nullptr;
thread_local std::uint64_t application_of_thread = 0;
constinit std::atomic<std::uint64_t> applications{0};

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
      scope_(recorder_ != nullptr ? recorder_.get() : trace_of_thread) {
  if (recorder_ != nullptr) application_of_thread = ++applications;
}

GraphScope::~GraphScope() {
  if (recorder_ != nullptr) application_of_thread = 0;
}

std::uint64_t current_application() noexcept { return application_of_thread; }

}  // namespace tenure::ops
