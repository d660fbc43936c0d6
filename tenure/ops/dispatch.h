#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "tenure/ops/attributes.h"
#include "tenure/ops/operand.h"
#include "tenure/ops/record.h"

namespace tenure::ops {

/// The dispatch point of all ops: runs the call now. Implemented by tenure/eager.
Tensor run_now(const OpRecord& op, std::span<const Operand> operands, const Attributes& attributes,
               Site site);
/// The same for ops with several outputs.
std::vector<Tensor> run_many_now(const OpRecord& op, std::span<const Operand> operands,
                                 const Attributes& attributes, Site site);

/// The same for an op of two operands without attributes. Copying operands would take a fifth of a
/// small call, and short ways need no array of them.
Tensor run_now(const OpRecord& op, const Operand& a, const Operand& b);

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
