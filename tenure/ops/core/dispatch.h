#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/core/call_context.h"
#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// The name under which a call of `op` goes.
inline const char* called_name(const OpRecord& op) noexcept {
  const char* const acting = call_context().acting_op;
  return acting == nullptr ? op.name : acting;
}

/// The dispatch point of all ops: runs the call now. wiring.cpp says who does
/// it and the forms below.
Tensor run_now(const OpRecord& op, std::span<const Operand> operands, const Attributes& attributes,
               Site site);
/// The same for ops with several outputs.
std::vector<Tensor> run_many_now(const OpRecord& op, std::span<const Operand> operands,
                                 const Attributes& attributes, Site site);

/// The same for an op of two operands without attributes. Copying operands would take a fifth of a
/// small call, and short ways need no array of them.
Tensor run_now(const OpRecord& op, const Operand& a, const Operand& b);

/// The same for whoever has taken note of the call, or must not: no tape sees it.
Tensor run_untaped(const OpRecord& op, std::span<const Operand> operands,
                   const Attributes& attributes, Site site);
std::vector<Tensor> run_many_untaped(const OpRecord& op, std::span<const Operand> operands,
                                     const Attributes& attributes, Site site);

/// Calls an op with tensors; the first one tells where.
inline Tensor call(const OpRecord& op, std::span<const Operand> operands,
                   const Attributes& attributes = kNoAttributes) {
  return run_now(op, operands, attributes, operands[0].site());
}
inline Tensor call(const OpRecord& op, std::initializer_list<Operand> operands,
                   const Attributes& attributes = kNoAttributes) {
  return call(op, std::span(operands.begin(), operands.size()), attributes);
}
inline Tensor call(const OpRecord& op, const Operand& x,
                   const Attributes& attributes = kNoAttributes) {
  return call(op, std::span(&x, 1), attributes);
}
inline Tensor call(const OpRecord& op, const Operand& a, const Operand& b) {
  return run_now(op, a, b);
}
/// Calls an op that makes a tensor from nothing.
inline Tensor create(const OpRecord& op, const Attributes& attributes, Site site) {
  return run_now(op, {}, attributes, site);
}

}  // namespace tenure::ops
