#include "tenure/graph/donation.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/tensor/introspect.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

/// Why the tensor's memory cannot be taken over; empty if it can. The call has one handle of it.
std::string obstacle(const Tensor& tensor) {
  TensorBody& body = tensor.body("donate()");
  const Pin pin(body, "donate()", body.created());
  const mem::Storage& storage = *pin.storage();
  if (can_take_over(body, storage, tensor.nbytes())) return {};
  if (storage.is_foreign()) return "its memory is not Tenure's own";
  if (!body.sole_handle()) return "there are copies of its handle";
  if (!storage.is_shared()) return "it is a part of a larger storage";
  std::string text = "others hold its data:";
  for (const Holder& holder : holders(tensor)) {
    if (holder.tensor != tensor.id()) text += "\n    " + to_string(holder);
  }
  return text;
}

}  // namespace

Donations::Donations(const FunctionCore::Call& call, const std::string& function)
    : call_(call), function_(function) {
  using Gift = FunctionCore::Call::Gift;
  for (std::size_t i = 0; i < call.gifts.size(); ++i) {
    if (call.gifts[i] == Gift::none) continue;
    const std::string reason = obstacle(call.tensors[i]);
    if (!reason.empty() && call.gifts[i] == Gift::donated) refuse(i, reason);
    if (!reason.empty() || call.tensors[i].nbytes() == 0) continue;
    accepted_.resize(call.tensors.size());
    accepted_[i] = true;
  }
}

void Donations::require_each(const Plan& plan) const {
  for (std::size_t i = 0; i < accepted_.size(); ++i) {
    const bool must = call_.gifts[i] == FunctionCore::Call::Gift::donated;
    if (!must || plan.inputs[i].reused) continue;
    refuse(i, fmt::format("nothing that the function computes after the last use of it and after "
                          "its last step that may fail can be put into these {}",
                          format_bytes(plan.inputs[i].bytes)));
  }
}

void Donations::refuse(std::size_t i, const std::string& reason) const {
  const Tensor& tensor = call_.tensors[i];
  throw DonationError(fmt::format(
      "function \"{}\": tensor {}, {}{} made at {}, cannot be donated: {}", function_, i,
      name_of(tensor.dtype()), to_string(tensor.shape()), to_string(tensor.created()), reason));
}

}  // namespace tenure::graph
