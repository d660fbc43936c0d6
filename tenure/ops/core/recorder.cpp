#include "tenure/ops/core/recorder.h"

#include <algorithm>
#include <atomic>

namespace tenure::ops {
namespace {

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
  return {std::shared_ptr<void>(), current_trace()};  // whoever traces keeps it
}

bool has_unknown_size(std::span<const Operand> operands) {
  return std::any_of(operands.begin(), operands.end(), [](const Operand& operand) {
    const TensorBody* const body = operand.is_scalar() ? nullptr : operand.tensor().body_or_null();
    return body != nullptr && !body->shape.is_known();
  });
}

GraphScope::GraphScope(const Tensor& tensor, const char* user, Site site)
    : recorder_(current_trace() == nullptr && tensor.defined() && tensor.is_symbolic()
                    ? tensor.body(user, site).symbol()->recorder(user, site)
                    : nullptr),
      trace_(recorder_ != nullptr ? recorder_.get() : current_trace()),
      application_(recorder_ != nullptr ? ++applications : current_application()) {}

}  // namespace tenure::ops
