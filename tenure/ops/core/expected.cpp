#include "tenure/ops/core/expected.h"

#include "tenure/ops/core/reference.h"

namespace tenure::ops {
std::vector<Reference> expected_of(const OpRecord& op, const std::vector<Reference>& in,
                                   const Attributes& attributes) {
  if (op.elementwise != nullptr) {
    return {broadcast_reference(op.name, in, [&](const std::vector<long double>& elements) {
      return op.elementwise->reference(elements.data());
    })};
  }
  return op.reference(in, attributes);
}

}  // namespace tenure::ops
