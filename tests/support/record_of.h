#pragma once

#include "tenure/ops/core/backend.h"
#include "tenure/ops/core/define.h"

namespace tenure::test {

/// The record of an op that is in no list, from a struct that has its kernel for the CPU too.
template <class Op>
const ops::OpRecord& record_of() {
  static const ops::KernelSlot slot = ops::make_slot<Op>();
  static const bool is_set = (ops::record<Op>().kernels.set(cpu, slot), true);
  static_cast<void>(is_set);
  return ops::record<Op>();
}

}  // namespace tenure::test
