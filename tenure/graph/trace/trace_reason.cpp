#include "tenure/graph/trace/trace_reason.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdio>

namespace tenure::graph {
namespace {

bool changes_first_sizes(const FunctionCore::Call& call, const CallSignature& last,
                         const std::vector<int>& batched) {
  if (call.tensors.size() != last.specs.size()) return false;
  bool changes = false;
  for (std::size_t i = 0; i < call.tensors.size(); ++i) {
    const Tensor& tensor = call.tensors[i];
    Shape before = last.specs[i].shape;
    if (tensor.dtype() != last.specs[i].dtype || tensor.shape().size() != before.size()) {
      return false;
    }
    if (tensor.shape() == before) continue;
    before[0] = tensor.shape()[0];
    if (!(tensor.shape() == before)) return false;
    changes |= std::find(batched.begin(), batched.end(), static_cast<int>(i)) == batched.end();
  }
  return changes;
}

/// A loop that traces in every step would otherwise print as often.
bool is_reported(int traces, int limit) {
  if (limit <= 0 || traces <= limit) return false;
  return traces == limit + 1 ||
         (traces % limit == 0 && std::has_single_bit(static_cast<unsigned>(traces / limit)));
}

}  // namespace

TraceReason reason_of(const FunctionCore::Call& call, const TraceVariant* variant,
                      const CallSignature* last, const std::vector<int>& batched) {
  if (last == nullptr) return {.text = variant == nullptr ? "the first call" : variant->reason};
  const std::string change = difference(call, variant, *last);
  return {.text = variant == nullptr ? change : fmt::format("{}; {}", variant->reason, change),
          .may_batch = changes_first_sizes(call, *last, batched)};
}

void warn_of_trace(const FunctionOptions& options, Site site, int traces,
                   const TraceReason& reason) {
  if (!is_reported(traces, options.warn_after)) return;
  const std::string text = fmt::format(
      "tenure: function \"{}\" ({}) has been traced {} times, now because: {}{}", options.name,
      tenure::to_string(site), traces, reason.text,
      reason.may_batch ? "; if only the first size changes, name the tensors in .batched" : "");
  if (options.warn) {
    options.warn(text);
  } else {
    std::fputs((text + "\n").c_str(), stderr);
  }
}

}  // namespace tenure::graph
