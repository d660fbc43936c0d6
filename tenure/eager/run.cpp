#include "tenure/eager/run.h"

#include <array>
#include <new>
#include <optional>

#include "tenure/eager/composite.h"
#include "tenure/eager/direct.h"
#include "tenure/eager/elementwise.h"
#include "tenure/eager/instead.h"
#include "tenure/eager/recipe.h"
#include "tenure/eager/structured.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/ops/autocast.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/recorder.h"
#include "tenure/ops/core/tape.h"

namespace tenure::eager {
namespace {

using ops::Attributes;
using ops::OpRecord;

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
  return run_structured(op, operands, attributes, site);
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
  return run_structured_many(op, operands, attributes, site);
}

std::vector<Tensor> run_again(const Recipe& recipe, std::span<const Operand> operands) {
  if (recipe.way == Way::elementwise) {
    return {eager::run_untaped(*recipe.op, operands, recipe.attributes, recipe.site)};
  }
  if (recipe.way == Way::direct) {
    return {direct_result(*recipe.op, operands[0], operands[1]).value()};
  }
  return run_structured_many(*recipe.op, operands, recipe.attributes, recipe.site);
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
