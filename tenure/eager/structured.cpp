#include "tenure/eager/structured.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>

#include "tenure/eager/evictor.h"
#include "tenure/eager/inputs.h"
#include "tenure/memory/scope.h"
#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/index_bounds.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/prepare.h"
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

std::size_t run_and_consume(const OpRecord& op, std::span<const Operand> operands,
                            const Attributes& attributes, Site site, Outputs& outputs) {
  const std::size_t n = run_pinned(op, operands, attributes, site, outputs);
  for (const Operand& operand : operands) operand.consume();  // after the last pin
  return n;
}

}  // namespace

Tensor run_structured(const OpRecord& op, std::span<const Operand> operands,
                      const Attributes& attributes, Site site) {
  Outputs outputs;
  run_and_consume(op, operands, attributes, site, outputs);
  return std::move(outputs[0]);
}

std::vector<Tensor> run_structured_many(const OpRecord& op, std::span<const Operand> operands,
                                        const Attributes& attributes, Site site) {
  Outputs outputs;
  const std::size_t n = run_and_consume(op, operands, attributes, site, outputs);
  return {std::make_move_iterator(outputs.begin()),
          std::make_move_iterator(outputs.begin() + static_cast<std::ptrdiff_t>(n))};
}

}  // namespace tenure::eager
