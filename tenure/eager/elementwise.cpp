#include "tenure/eager/elementwise.h"

#include <concepts>
#include <optional>

#include "tenure/eager/evictor.h"
#include "tenure/eager/inputs.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/types.h"

namespace tenure::eager {
namespace {

using ops::ElementwiseRecord;
using ops::OpRecord;
using ops::TypeRule;

void prepare(PendingTensor& pending, mem::ThreadContext& context, Device device, DType dtype,
             const Shape& shape, TensorBody* donor) {
  if (donor != nullptr) {
    pending.borrow(context, dtype, shape, *donor);
  } else {
    pending.allocate(context, device, dtype, shape);
  }
}

/// Takes note of the call that has given `result`.
Tensor noted(const OpRecord& op, std::span<const Operand> operands, Device device, Tensor result) {
  note_slowly({.op = op,
               .operands = operands,
               .attributes = ops::kNoAttributes,
               .way = Way::elementwise,
               .device = device,
               .site = operands[0].site(),
               .outputs = {&result, 1}});
  return result;
}

/// Tensors of one type and one shape, contiguous: most calls of small programs. No conversion and
/// no broadcasting.
template <std::same_as<Operand>... Operands>
std::optional<Tensor> run_plain(const OpRecord& op, const Operands&... arguments) {
  constexpr std::size_t arity = sizeof...(arguments);
  const std::array<const Operand*, arity> operands{&arguments...};
  const ElementwiseRecord& e = *op.elementwise;
  if (e.rule == TypeRule::select || op.may_fail) return std::nullopt;
  std::array<TensorBody*, arity> bodies;
  for (std::size_t i = 0; i < arity; ++i) {
    if (operands[i]->is_scalar()) return std::nullopt;
    bodies[i] = operands[i]->tensor().body_or_null();
    if (bodies[i] == nullptr || !bodies[i]->contiguous) return std::nullopt;
    if (bodies[i]->dtype != bodies[0]->dtype || bodies[i]->shape != bodies[0]->shape ||
        bodies[i]->device() != bodies[0]->device()) {
      return std::nullopt;
    }
  }
  const DType dtype = bodies[0]->dtype;
  const bool converts = e.rule == TypeRule::logic
                            ? dtype != DType::boolean
                            : ops::widened_type(dtype) != dtype ||
                                  (e.rule == TypeRule::floating && !is_floating(dtype));
  if (converts || !op.takes(dtype)) return std::nullopt;
  const ops::PreparedLoop& loop = ops::loop_of(op, bodies[0]->device(), dtype);

  const bool tests = e.rule == TypeRule::comparison || e.rule == TypeRule::logic;
  const DType result = tests ? DType::boolean : dtype;
  const Shape& shape = bodies[0]->shape;
  mem::ThreadContext& context = mem::this_thread();
  const Site site = operands[0]->site();

  const bool attends = mem::needs_attention(context);
  Pins<arity> pins(context, attends);
  std::array<const void*, arity> in;
  TensorBody* donor = nullptr;
  for (std::size_t i = 0; i < arity; ++i) {
    mem::Storage& storage = pins.take(*bodies[i], op, operands[i]->site());
    in[i] = data_of(*bodies[i], storage);
    if (donor == nullptr && operands[i]->may_consume() && (op.memory.reuses >> i & 1) != 0 &&
        is_reusable(*bodies[i], storage, result, shape)) {
      donor = bodies[i];
    }
  }
  PendingTensor pending;
  prepare(pending, context, bodies[0]->device(), result, shape, donor);
  loop.run_flat(in.data(), 0, pending.data(), static_cast<std::size_t>(count(shape)));
  if (attends) [[unlikely]]
    return noted(op, std::array{arguments...}, bodies[0]->device(), pending.finish(op.name, site));
  return pending.finish(op.name, site);
}

Tensor run_general(const OpRecord& op, std::span<const Operand> operands) {
  const std::size_t arity = operands.size();
  const char* const name = ops::called_name(op);
  std::array<Pin, ops::kMaxArity> pins;
  CallDevice device(name);
  for (std::size_t i = 0; i < arity; ++i) {
    if (operands[i].is_scalar()) continue;
    TensorBody& body = operands[i].tensor().body(name, operands[i].site());
    pins[i].take(body, name, operands[i].site());
    device.add(body);
  }
  const ops::KernelSlot& slot = ops::kernel_of(op, device.get());
  const ops::ElementwiseTypes types = ops::elementwise_types(op, operands);
  const ops::PreparedLoop& loop = ops::loop_of(op, device.get(), types.common);

  ops::ViewRoom<ops::kMaxArity> views;
  alignas(8) std::array<std::array<std::byte, 8>, ops::kMaxArity> scalars;
  std::uint32_t numbers = 0;
  Shape shape;
  for (std::size_t i = 0; i < arity; ++i) {
    const TensorBody* const body = pins[i].body();
    if (body == nullptr) {
      ops::store_scalar(operands[i].scalar(), types.in[i], scalars[i].data(), name);
      views.write(i, {.dtype = types.in[i], .data = scalars[i].data()});
      numbers |= 1u << i;
      continue;
    }
    shape = broadcast(shape, body->shape, name);
    views.write(i, {.dtype = body->dtype,
                    .shape = body->shape,
                    .strides = body->strides,
                    .data = pins[i].data()});
  }
  check_shape(shape, size_of(types.result), name);
  const std::span<const ops::View> in(views.data(), arity);
  if (slot.check != nullptr) slot.check(name, types.compute, {in, numbers});

  TensorBody* donor = nullptr;
  for (std::size_t i = 0; i < arity && donor == nullptr; ++i) {
    if (operands[i].may_consume() && (op.memory.reuses >> i & 1) != 0 &&
        is_reusable(*pins[i].body(), *pins[i].storage(), types.result, shape)) {
      donor = pins[i].body();
    }
  }
  PendingTensor pending;
  prepare(pending, mem::this_thread(), device.get(), types.result, shape, donor);
  loop.run({in, numbers}, {.dtype = types.result,
                           .shape = shape,
                           .strides = contiguous_strides(shape),
                           .data = pending.data()});
  if (mem::needs_attention(mem::this_thread())) [[unlikely]]
    return noted(op, operands, device.get(), pending.finish(name, operands[0].site()));
  return pending.finish(name, operands[0].site());
}

/// Whatever has no short way. A graph takes calls on its symbols over.
Tensor run_or_record(const OpRecord& op, std::span<const Operand> operands) {
  if (const auto recorder = ops::recorder_of(op, operands)) {
    return recorder->record(op, operands, ops::kNoAttributes, operands[0].site()).front();
  }
  return run_general(op, operands);
}

}  // namespace

Tensor run_elementwise(const OpRecord& op, std::span<const Operand> operands) {
  std::optional<Tensor> result;
  if (operands.size() == 1) result = run_plain(op, operands[0]);
  if (!result) result = run_or_record(op, operands);
  for (const Operand& operand : operands) operand.consume();
  return *std::move(result);
}

Tensor run_elementwise(const OpRecord& op, const Operand& a, const Operand& b) {
  std::optional<Tensor> result = run_plain(op, a, b);
  if (!result) result = run_or_record(op, std::array{a, b});
  a.consume();
  b.consume();
  return *std::move(result);
}

}  // namespace tenure::eager
