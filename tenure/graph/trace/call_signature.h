#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tenure/graph/function.h"
#include "tenure/graph/trace/traced.h"

namespace tenure::graph {

/// What of a call tells whether a trace serves it.
struct CallSignature {
  Device device = cpu;
  std::vector<ops::Spec> specs{};
  std::vector<Strides> strides{};  ///< of what is not contiguous
  std::vector<std::int64_t> layout{};
  Signature variant{};
  DType autocast = DType::float32;
};

/// "float32[8, 4], float32[4] donated, 0.5"
std::string text_of(const FunctionCore::Call& call, const std::vector<bool>& donated);

/// Where its tensors are, or meet (ops/shape/meet.h); the default device if there are none. Throws
/// DeviceError if they are on several.
Device device_of(const FunctionCore::Call& call);
std::vector<ops::Spec> specs_of(const FunctionCore::Call& call);
/// Empty where a tensor is contiguous.
std::vector<Strides> strides_of(const FunctionCore::Call& call);

/// What is new in a call, compared with the one before it. The variant may be null.
std::string difference(const FunctionCore::Call& call, const TraceVariant* variant,
                       const CallSignature& last);

}  // namespace tenure::graph
