#pragma once

#include <string>
#include <vector>

#include "tenure/graph/trace/call_signature.h"

namespace tenure::graph {

/// Why a function traces a call.
struct TraceReason {
  std::string text{};
  /// Some tensors have another first size than they had, which could be left open, and nothing else
  /// of any shape or type differs.
  bool may_batch = false;
};

/// `last` is what the newest trace of the same variant was made for; null: there is none. The
/// variant may be null. `batched` are the tensors whose first size is open.
TraceReason reason_of(const FunctionCore::Call& call, const TraceVariant* variant,
                      const CallSignature* last, const std::vector<int>& batched);

/// Tells whoever uses a function that traces too often, as its options say; `traces` is how many
/// there were with this one.
void warn_of_trace(const FunctionOptions& options, Site site, int traces,
                   const TraceReason& reason);

}  // namespace tenure::graph
