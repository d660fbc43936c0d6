#include "tenure/ops/recorder.h"

#include <utility>

namespace tenure::ops {
namespace {

thread_local Recorder* current_trace = nullptr;

}  // namespace

Recorder* recorder_of(const OpRecord& op, std::span<const Operand> operands) {
  for (const Operand& operand : operands) {
    if (operand.is_scalar()) continue;
    const TensorBody* const body = operand.tensor().body_or_null();
    if (body != nullptr && body->symbol() != nullptr) {
      return &body->symbol()->recorder(op.name, operand.site());
    }
  }
  return operands.empty() ? current_trace : nullptr;
}

bool is_tracing() noexcept { return current_trace != nullptr; }

TraceScope::TraceScope(Recorder* recorder) noexcept
    : outer_(std::exchange(current_trace, recorder)) {}

TraceScope::~TraceScope() { current_trace = outer_; }

}  // namespace tenure::ops
