#include "tenure/eager/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>

#include "tenure/eager/elementwise.h"
#include "tenure/eager/evictor.h"
#include "tenure/eager/inputs.h"
#include "tenure/eager/instead.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/autocast.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/index_bounds.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/prepare.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"
#include "tenure/ops/core/types.h"

namespace tenure::eager {
namespace {

using ops::Attributes;
using ops::Kernel;
using ops::OpRecord;

constexpr std::size_t kMaxOutputs = 8;
using Outputs = std::array<Tensor, kMaxOutputs>;

Tensor make_view(const OpRecord& op, const Inputs& inputs, const ops::ViewSpec& spec, Site site) {
  TensorBody& source = inputs.body(0);
  mem::Storage* const storage = inputs.storage(0);
  storage->retain();
  return make_tensor(mem::this_thread(), storage, source.dtype, spec.shape, spec.strides,
                     source.offset + spec.offset, ops::called_name(op), site, HolderKind::view);
}

/// Temporary memory of a call, counted as such.
class Workspace {
 public:
  Workspace(Device device, std::size_t bytes) {
    if (bytes == 0) return;
    mem::ThreadContext& context = mem::this_thread();
    const mem::CategoryGuard category(context, Category::workspace);
    storage_ = mem::Storage::allocate(context, device, bytes);
  }
  ~Workspace() {
    if (storage_ != nullptr) storage_->release();
  }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  std::span<std::byte> span() const {
    if (storage_ == nullptr) return {};
    return {static_cast<std::byte*>(storage_->data()), storage_->bytes()};
  }

 private:
  mem::Storage* storage_ = nullptr;
};

/// Whether input i is a second input as well: in place the kernel would overwrite what it reads.
bool is_repeated(const Inputs& inputs, std::size_t i) {
  for (std::size_t j = 0; j < inputs.size(); ++j) {
    if (j != i && &inputs.body(j) == &inputs.body(i)) return true;
  }
  return false;
}

/// Whether it is known without a kernel that all indices of a call are in bounds.
bool indices_hold(const OpRecord& op, const Kernel& kernel, const Inputs& inputs) {
  if (op.index_bounds == nullptr || inputs.device() == cpu) return false;
  ops::Backend& device = ops::backend(inputs.device());
  if (!device.waits_for_indices()) return false;
  const std::vector<ops::IndexBound> bounds = op.index_bounds(kernel);
  return !bounds.empty() &&
         std::all_of(bounds.begin(), bounds.end(), [&](const ops::IndexBound& bound) {
           return ops::hold(bound, inputs.pin(static_cast<std::size_t>(bound.input)), device);
         });
}

/// Returns how many outputs there are.
std::size_t run_kernel(const OpRecord& op, std::span<const Operand> operands, const Inputs& inputs,
                       const Attributes& attributes, Site site, Outputs& outputs) {
  const char* const name = ops::called_name(op);
  Kernel kernel{
      .op = name, .in = inputs.views(), .out = {}, .attributes = attributes, .workspace = {}};
  if (op.view != nullptr) {
    if (const std::optional<ops::ViewSpec> spec = op.view(kernel)) {
      outputs[0] = make_view(op, inputs, *spec, site);
      return 1;
    }
  }

  const Device device = inputs.device();
  const Device target = op.target == nullptr ? device : op.target(attributes);
  const ops::KernelSlot& slot = ops::kernel_of(op, device);
  std::optional<Workspace> workspace;
  const auto take_workspace = [&] {
    if (slot.workspace == nullptr) return;
    kernel.workspace = workspace.emplace(device, slot.workspace(kernel)).span();
  };
  ops::Specs specs = op.infer(kernel);
  if (op.data_dependent) {
    take_workspace();
    specs = slot.measure(kernel);
  }
  if (specs.size() == 0 || specs.size() > kMaxOutputs) [[unlikely]] {
    throw ValueError(fmt::format("{}: its infer gives {} outputs; a call has 1 to {}", name,
                                 specs.size(), kMaxOutputs));
  }
  mem::ThreadContext& context = mem::this_thread();
  std::array<PendingTensor, kMaxOutputs> pending;
  ops::ViewRoom<kMaxOutputs> out;
  for (std::size_t o = 0; o < specs.size(); ++o) {
    const ops::Spec& spec = specs[o];
    check_shape(spec.shape, size_of(spec.dtype), name);
    const std::uint32_t reusable = op.memory.reuses_for(o, specs.size());
    for (std::size_t i = 0; reusable >> i != 0 && i < inputs.size() && !pending[o].is_ready();
         ++i) {
      if ((reusable >> i & 1) != 0 && !is_repeated(inputs, i) &&
          inputs.can_reuse(i, operands[i], spec.dtype, spec.shape)) {
        pending[o].borrow(context, spec.dtype, spec.shape, inputs.body(i));
      }
    }
    if (!pending[o].is_ready()) pending[o].allocate(context, target, spec.dtype, spec.shape);
    out.write(o, {.dtype = spec.dtype,
                  .shape = spec.shape,
                  .strides = contiguous_strides(spec.shape),
                  .data = pending[o].data()});
  }
  kernel.out = {out.data(), specs.size()};
  if (!op.data_dependent) take_workspace();
  kernel.indices_hold = indices_hold(op, kernel, inputs);
  slot.run(kernel);
  for (std::size_t o = 0; o < specs.size(); ++o) outputs[o] = pending[o].finish(name, site);
  if (mem::needs_attention(context)) [[unlikely]] {
    note_slowly({.op = op,
                 .operands = operands,
                 .attributes = attributes,
                 .way = Way::structured,
                 .device = device,
                 .site = site,
                 .outputs = {outputs.data(), specs.size()}});
  }
  return specs.size();
}

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

/// By the direct kernel of their device, if there is one and it takes these operands.
std::optional<Tensor> run_direct(const OpRecord& op, const Operand& left, const Operand& right) {
  std::optional<Tensor> result = direct_result(op, left, right);
  if (result) {
    left.consume();
    right.consume();
  }
  return result;
}

/// What the kernel gets of a call with programs among its attributes.
Attributes prepared(const ops::Preparable& programs, const OpRecord& op, const Inputs& inputs,
                    const Attributes& attributes) {
  const Kernel kernel{.op = ops::called_name(op),
                      .in = inputs.views(),
                      .out = {},
                      .attributes = attributes,
                      .workspace = {}};
  static_cast<void>(op.infer(kernel));
  return programs.prepared(kernel);
}

std::size_t run_pinned(const OpRecord& op, std::span<const Operand> operands,
                       const Attributes& attributes, Site site, Outputs& outputs) {
  const Inputs inputs(op, operands);
  if (inputs.size() != 0) ops::require_type(op, inputs.body(0).dtype);
  std::optional<Attributes> own;
  const ops::Preparable* const programs = ops::preparable_in(attributes);
  const Attributes& used =
      programs == nullptr ? attributes : own.emplace(prepared(*programs, op, inputs, attributes));
  return run_kernel(op, operands, inputs, used, site, outputs);
}

std::size_t run_structured(const OpRecord& op, std::span<const Operand> operands,
                           const Attributes& attributes, Site site, Outputs& outputs) {
  const std::size_t n = run_pinned(op, operands, attributes, site, outputs);
  for (const Operand& operand : operands) operand.consume();  // after the last pin
  return n;
}

/// Wrong inputs are errors of the composite, not of the ops that it is written in.
std::vector<Tensor> run_composite(const OpRecord& op, std::span<const Operand> operands,
                                  const Attributes& attributes, Site site) {
  const ops::ActingFor acting(op.name);
  const auto recorder = ops::recorder_of(op, operands);
  const bool is_recorded = recorder != nullptr;
  if (is_recorded && ops::has_unknown_size(operands)) {
    return recorder->record(op, operands, attributes, site);
  }
  std::optional<DeviceScope> device;  // for what the composite makes from nothing
  if (!is_recorded) {
    const Inputs inputs(op, operands);
    ops::require_type(op, inputs.body(0).dtype);
    device.emplace(inputs.device());
  }
  std::vector<Tensor> results = op.expand(operands, attributes);
  for (const Operand& operand : operands) operand.consume();
  if (!is_recorded && op.memory.kind == ops::MemoryEffect::Kind::allocates) {
    // What the last step saw as a view of the step before is the user's own data.
    for (const Tensor& result : results) result.body(op.name).set_kind(HolderKind::user);
  }
  return results;
}

/// Whether calls of the op are noted as such. A composite's parts are, unless it has a rule, or has
/// no parts until its sizes are known.
bool is_taped(const OpRecord& op, std::span<const Operand> operands) {
  return op.expand == nullptr || op.gradient != nullptr || ops::has_unknown_size(operands);
}

std::vector<Tensor> record(ops::Recorder& recorder, const OpRecord& op,
                           std::span<const Operand> operands, const Attributes& attributes,
                           Site site) {
  std::vector<Tensor> results = recorder.record(op, operands, attributes, site);
  for (const Operand& operand : operands) operand.consume();
  return results;
}

/// Whether a trace takes in the call whatever its operands are. A composite's parts are taken in.
bool is_traced(const OpRecord& op) {
  return ops::current_trace() != nullptr && op.expand == nullptr;
}

}  // namespace

Tensor run_untaped(const OpRecord& op, std::span<const Operand> operands,
                   const Attributes& attributes, Site site) {
  if (is_traced(op)) [[unlikely]]
    return std::move(
        record(*ops::recorder_of(op, operands), op, operands, attributes, site).front());
  if (op.elementwise != nullptr) {
    return operands.size() == 2 ? run_elementwise(op, operands[0], operands[1])
                                : run_elementwise(op, operands);
  }
  if (op.expand != nullptr) {
    return std::move(run_composite(op, operands, attributes, site).front());
  }
  if (operands.size() == 2) {
    std::optional<Tensor> result = run_direct(op, operands[0], operands[1]);
    if (result) return *std::move(result);
  }
  if (const auto recorder = ops::recorder_of(op, operands)) {
    return std::move(record(*recorder, op, operands, attributes, site).front());
  }
  Outputs outputs;
  run_structured(op, operands, attributes, site, outputs);
  return std::move(outputs[0]);
}

std::vector<Tensor> run_many_untaped(const OpRecord& op, std::span<const Operand> operands,
                                     const Attributes& attributes, Site site) {
  if (is_traced(op)) [[unlikely]]
    return record(*ops::recorder_of(op, operands), op, operands, attributes, site);
  if (op.elementwise != nullptr) return {run_elementwise(op, operands)};
  if (op.expand != nullptr) return run_composite(op, operands, attributes, site);
  if (const auto recorder = ops::recorder_of(op, operands)) {
    return record(*recorder, op, operands, attributes, site);
  }
  Outputs outputs;
  const std::size_t n = run_structured(op, operands, attributes, site, outputs);
  return {std::make_move_iterator(outputs.begin()),
          std::make_move_iterator(outputs.begin() + static_cast<std::ptrdiff_t>(n))};
}

namespace {

/// For lists and texts, which the standard library makes.
[[noreturn]] void throw_no_memory(const char* op, std::span<const Operand> operands, Site site) {
  try {
    mem::throw_out_of_memory(OutOfMemory::Cause::system, 0, nullptr);
  } catch (Error& error) {
    ops::name_call(error, op, operands, site);
    throw;
  }
}

}  // namespace

std::vector<Tensor> run_again(const Recipe& recipe, std::span<const Operand> operands) {
  if (recipe.way == Way::elementwise) {
    return {eager::run_untaped(*recipe.op, operands, recipe.attributes, recipe.site)};
  }
  if (recipe.way == Way::direct) {
    return {direct_result(*recipe.op, operands[0], operands[1]).value()};
  }
  Outputs outputs;
  const std::size_t n =
      run_structured(*recipe.op, operands, recipe.attributes, recipe.site, outputs);
  return {std::make_move_iterator(outputs.begin()),
          std::make_move_iterator(outputs.begin() + static_cast<std::ptrdiff_t>(n))};
}

namespace {

/// Whether operands may be others than those that were given.
bool may_change() { return ops::is_autocast() || mem::has_other_devices(); }
bool may_change(const Operand& a, const Operand& b) {
  if (ops::is_autocast()) [[unlikely]]
    return true;
  if (!mem::has_other_devices() || a.is_scalar() || b.is_scalar()) [[likely]]
    return false;
  const TensorBody* const left = a.tensor().body_or_null();
  const TensorBody* const right = b.tensor().body_or_null();
  return left != nullptr && right != nullptr && left->device() != right->device();
}

/// Calls `run(operands)` with what Autocast and the devices make of the operands; nothing if that
/// is what they are.
template <class Run>
auto run_changed(const OpRecord& op, std::span<const Operand> operands, const Run& run)
    -> std::optional<decltype(run(operands))> {
  if (const Instead there = Instead::by_device(op, operands); there.differ()) {
    auto result = run(there.get());
    for (const Operand& operand : operands) operand.consume();
    return result;
  }
  if (!ops::is_autocast()) return std::nullopt;
  const Instead changed = Instead::by_precision(op, operands);
  if (!changed.differ()) return std::nullopt;
  const Autocast off(DType::float32);  // what it is written in gets what it was given
  auto result = run(changed.get());
  for (const Operand& operand : operands) operand.consume();
  return result;
}

}  // namespace

// Whatever a call throws names it; a call that succeeds does nothing for that.

Tensor run_now(const OpRecord& op, std::span<const Operand> operands, const Attributes& attributes,
               Site site) {
  try {
    if (may_change()) [[unlikely]] {
      const auto run = [&](auto changed) { return eager::run_now(op, changed, attributes, site); };
      if (auto result = run_changed(op, operands, run)) return *std::move(result);
    }
    if (ops::current_tape() != nullptr && is_taped(op, operands)) [[unlikely]]
      return ops::current_tape()->run(op, operands, attributes, site);
    return eager::run_untaped(op, operands, attributes, site);
  } catch (Error& error) {
    ops::name_call(error, op.name, operands, site);
    throw;
  } catch (const std::bad_alloc&) {
    throw_no_memory(op.name, operands, site);
  }
}

Tensor run_now(const OpRecord& op, const Operand& a, const Operand& b) {
  if (may_change(a, b)) [[unlikely]]
    return eager::run_now(op, std::array{a, b}, ops::kNoAttributes, a.site());
  try {
    if (ops::current_tape() != nullptr && (op.expand == nullptr || is_taped(op, std::array{a, b})))
        [[unlikely]]
      return ops::current_tape()->run(op, std::array{a, b}, ops::kNoAttributes, a.site());
    if (is_traced(op)) [[unlikely]]
      return eager::run_untaped(op, std::array{a, b}, ops::kNoAttributes, a.site());
    if (op.elementwise != nullptr) return run_elementwise(op, a, b);
    if (op.expand == nullptr) {
      if (std::optional<Tensor> result = run_direct(op, a, b)) return *std::move(result);
    }
    return eager::run_untaped(op, std::array{a, b}, ops::kNoAttributes, a.site());
  } catch (Error& error) {
    ops::name_call(error, op.name, std::array{a, b}, a.site());
    throw;
  } catch (const std::bad_alloc&) {
    throw_no_memory(op.name, std::array{a, b}, a.site());
  }
}

std::vector<Tensor> run_many_now(const OpRecord& op, std::span<const Operand> operands,
                                 const Attributes& attributes, Site site) {
  try {
    if (may_change()) [[unlikely]] {
      const auto run = [&](auto changed) {
        return eager::run_many_now(op, changed, attributes, site);
      };
      if (auto result = run_changed(op, operands, run)) return *std::move(result);
    }
    if (ops::current_tape() != nullptr && is_taped(op, operands)) [[unlikely]]
      return ops::current_tape()->run_many(op, operands, attributes, site);
    return eager::run_many_untaped(op, operands, attributes, site);
  } catch (Error& error) {
    ops::name_call(error, op.name, operands, site);
    throw;
  } catch (const std::bad_alloc&) {
    throw_no_memory(op.name, operands, site);
  }
}

}  // namespace tenure::eager
