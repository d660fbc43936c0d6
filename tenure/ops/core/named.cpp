#include "tenure/ops/core/named.h"

#include <fmt/format.h>

#include "tenure/memory/threads/call.h"
#include "tenure/tensor/device_error.h"

namespace tenure::ops {
namespace {

/// "float32[2, 3] "w" on cuda:0, made by relu at train.cpp:10"
std::string describe(const TensorBody& body, bool says_device) {
  const std::string name = body.name();
  return fmt::format("{}{}{}{}, made by {} at {}", name_of(body.dtype),
                     tenure::to_string(body.shape), name.empty() ? "" : " \"" + name + "\"",
                     says_device ? " on " + name_of(body.device()) : "", body.op(),
                     tenure::to_string(body.created()));
}

}  // namespace

std::string describe(const Tensor& tensor) { return describe(*tensor.body_or_null(), true); }

void name_call(Error& error, const char* op, std::span<const Operand> operands,
               Site site) noexcept {
  if (call_context().acting_op != nullptr || !mem::name_call(error, op, site)) return;
  constexpr std::size_t kShown = 4;
  // Who asks for memory has no wrong operands.
  if (dynamic_cast<const OutOfMemory*>(&error) != nullptr) return;
  const bool says_device = dynamic_cast<const DeviceError*>(&error) != nullptr;
  try {
    for (std::size_t i = 0; i < operands.size() && i < kShown; ++i) {
      if (operands[i].is_scalar() || !operands[i].tensor().defined()) continue;
      error.add_line(fmt::format("input {} is {}", i,
                                 describe(*operands[i].tensor().body_or_null(), says_device)));
    }
  } catch (...) {  // NOLINT(bugprone-empty-catch): without memory the text stays shorter
  }
}

}  // namespace tenure::ops
