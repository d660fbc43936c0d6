#include "tenure/eager/direct.h"

#include <array>

#include "tenure/eager/evictor.h"
#include "tenure/eager/inputs.h"
#include "tenure/ops/core/backend.h"

namespace tenure::eager {

using ops::OpRecord;

std::optional<Tensor> direct_result(const OpRecord& op, const Operand& left, const Operand& right) {
  if (left.is_scalar() || right.is_scalar()) return std::nullopt;
  TensorBody* const a = left.tensor().body_or_null();
  TensorBody* const b = right.tensor().body_or_null();
  if (a == nullptr || b == nullptr || a->symbol() != nullptr || b->symbol() != nullptr ||
      a->device() != b->device()) {
    return std::nullopt;
  }
  const ops::KernelSlot* const slot = ops::find_kernel(op, a->device());
  if (slot == nullptr || slot->direct == nullptr) return std::nullopt;
  const ops::DirectKernel& direct = *slot->direct;
  Shape shape;
  const ops::LayoutRef a_layout{a->dtype, a->shape, a->strides};
  const ops::LayoutRef b_layout{b->dtype, b->shape, b->strides};
  if (!direct.infer(a_layout, b_layout, shape)) return std::nullopt;
  mem::ThreadContext& context = mem::this_thread();
  const bool attends = mem::needs_attention(context);
  Pins<2> pins(context, attends);
  const mem::Storage& a_storage = pins.take(*a, op, left.site());
  const mem::Storage& b_storage = pins.take(*b, op, right.site());
  PendingTensor pending(context, a->device(), a->dtype, shape);
  direct.run(a_layout, data_of(*a, a_storage), b_layout, data_of(*b, b_storage), pending.data());
  if (!attends) [[likely]]
    return pending.finish(op.name, left.site());
  Tensor result = pending.finish(op.name, left.site());
  note_slowly({.op = op,
               .operands = std::array{left, right},
               .attributes = ops::kNoAttributes,
               .way = Way::direct,
               .device = a->device(),
               .site = left.site(),
               .outputs = {&result, 1}});
  return result;
}

}  // namespace tenure::eager
