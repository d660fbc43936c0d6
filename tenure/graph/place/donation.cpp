#include "tenure/graph/place/donation.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/tensor/introspect.h"
#include "tenure/tensor/pending.h"

namespace tenure::graph {
namespace {

/// Whether the tensor's memory can be taken over. The call has one handle of it.
bool is_free(const Tensor& tensor) {
  TensorBody& body = tensor.body("donate()");
  const Pin pin(body, "donate()", body.created());
  return can_take_over(body, *pin.storage(), tensor.nbytes());
}

/// Why it is not.
std::string obstacle(const Tensor& tensor) {
  TensorBody& body = tensor.body("donate()");
  const Pin pin(body, "donate()", body.created());
  const mem::Storage& storage = *pin.storage();
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

Donations::Donations(std::span<const Tensor> tensors, std::span<const Ownership> ownership,
                     const Receiver& receiver)
    : tensors_(tensors), ownership_(ownership), receiver_(receiver) {
  for (std::size_t i = 0; i < ownership.size(); ++i) {
    if (ownership[i] == Ownership::kept) continue;
    const bool free = is_free(tensors[i]);
    if (!free && ownership[i] == Ownership::donated) refuse(i, obstacle(tensors[i]));
    if (!free || tensors[i].nbytes() == 0) continue;
    accepted_.resize(tensors.size());
    accepted_[i] = true;
  }
}

void Donations::require_each(const Plan& plan) const {
  for (std::size_t i = 0; i < accepted_.size(); ++i) {
    if (ownership_[i] != Ownership::donated || plan.inputs[i].reused) continue;
    refuse(i, fmt::format("nothing that the {} computes after the last use of it and after its "
                          "last step that may fail can be put into these {}",
                          receiver_.what, format_bytes(plan.inputs[i].bytes)));
  }
}

void Donations::refuse(std::size_t i, const std::string& reason) const {
  const Tensor& tensor = tensors_[i];
  throw DonationError(fmt::format("{} \"{}\": {} {}, {}{} made at {}, cannot be donated: {}",
                                  receiver_.what, receiver_.name, receiver_.item, i,
                                  name_of(tensor.dtype()), to_string(tensor.shape()),
                                  to_string(tensor.created()), reason));
}

}  // namespace tenure::graph
