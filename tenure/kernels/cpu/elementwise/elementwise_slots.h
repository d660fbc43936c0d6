#pragma once

#include <vector>

#include "tenure/kernels/cpu/elementwise/body.h"
#include "tenure/kernels/cpu/elementwise/checks.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/elementwise/definition.h"

namespace tenure::kernels {

template <class Op>
KernelRow elementwise_row(const Bodies& bodies) {
  KernelRow row{.op = Op::name, .bodies = &bodies};
  if constexpr (Op::refuses == ops::Refusal::zero) row.slot.check = reject_zero;
  if constexpr (Op::refuses == ops::Refusal::negative) row.slot.check = reject_negative;
  return row;
}

/// The kernels of a list of ops, of which `bodies` has one after the other.
template <class... Ops>
std::vector<KernelRow> rows_of(ops::List<Ops...>, const Bodies* bodies) {
  return {elementwise_row<Ops>(*bodies++)...};
}

}  // namespace tenure::kernels
