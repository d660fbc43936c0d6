#include "tenure/ops/core/expected.h"

#include <array>

#include "tenure/ops/core/reference.h"

namespace tenure::ops {
namespace {

Reference elementwise_reference(const OpRecord& op, const std::vector<Reference>& in) {
  Shape shape;
  for (const Reference& input : in) shape = broadcast(shape, input.shape, op.name);
  return make_reference(shape, [&](const Dims& index) {
    std::array<long double, kMaxArity> arguments{};
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Shape& own = in[i].shape;
      const Strides strides = broadcast_strides(own, contiguous_strides(own), shape);
      std::int64_t at = 0;
      for (int axis = 0; axis < shape.size(); ++axis) at += index[axis] * strides[axis];
      arguments[i] = in[i].values[static_cast<std::size_t>(at)];
    }
    return op.elementwise->reference(arguments.data());
  });
}

}  // namespace

std::vector<Reference> expected_of(const OpRecord& op, const std::vector<Reference>& in,
                                   const Attributes& attributes) {
  if (op.elementwise != nullptr) return {elementwise_reference(op, in)};
  return op.reference(in, attributes);
}

}  // namespace tenure::ops
