#pragma once

#include <concepts>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/record.h"

// Note: how an op with a structure of its own is written
//
// A struct with static members:
//
//   family, name, signature, doc   what `tenure ops` prints
//   memory                         its effect (record.h)
//   types                          which element types input 0 may have
//   infer(kernel) -> Specs         shapes and types of the outputs, or a typed error
//   view(kernel)                   instead of infer, or before it: how the output reads the
//                                  input's storage, if it can
//   expand(operands, attributes)   instead of both: the op in terms of other ops
//   samples(), reference(...)      what the harness calls and what it expects
//   gradient                       a GradientRule (gradient.h), if a float goes in and one comes
//                                  out
//   converts, data_dependent, draws, flops, folds, index_bounds, is_identity, may_fail, outputs,
//   parts, precision, stages, target, ulp, ulp_of_largest, ulp_unwidened    optional, as in
//   record.h
//
// `record<Op>()` makes the record; the family's source lists its ops in a function that list.cpp
// calls. What computes the op on a device is not here: backend.h, and kernels/cpu/table.h for the
// CPU.

namespace tenure::ops {

template <class Op>
concept OpDefinition = requires {
  { Op::family } -> std::convertible_to<const char*>;
  { Op::name } -> std::convertible_to<const char*>;
  { Op::signature } -> std::convertible_to<const char*>;
  { Op::doc } -> std::convertible_to<const char*>;
  { Op::memory } -> std::convertible_to<MemoryEffect>;
  { Op::types } -> std::convertible_to<std::uint32_t>;
  Op::samples;
  Op::reference;
}
&&(
    requires { Op::infer; } || requires { Op::view; } || requires { Op::expand; });

template <OpDefinition Op>
OpRecord make_record() {
  OpRecord record;
  record.family = Op::family;
  record.name = Op::name;
  record.signature = Op::signature;
  record.doc = Op::doc;
  record.memory = Op::memory;
  record.dtypes = Op::types;
  record.samples = Op::samples;
  record.reference = Op::reference;
  if constexpr (requires { Op::infer; }) record.infer = Op::infer;
  if constexpr (requires { Op::view; }) record.view = Op::view;
  if constexpr (requires { Op::expand; }) record.expand = Op::expand;
  if constexpr (requires { Op::is_identity; }) record.is_identity = Op::is_identity;
  if constexpr (requires { Op::draws; }) record.draws = Op::draws;
  if constexpr (requires { Op::flops; }) record.flops = Op::flops;
  if constexpr (requires { Op::gradient; }) record.gradient = &Op::gradient;
  if constexpr (requires { Op::data_dependent; }) record.data_dependent = Op::data_dependent;
  if constexpr (requires { Op::may_fail; }) record.may_fail = Op::may_fail;
  if constexpr (requires { Op::index_bounds; }) {
    record.may_fail = true;
    record.index_bounds = Op::index_bounds;
  }
  if constexpr (requires { Op::stages; }) record.stages = Op::stages;
  if constexpr (requires { Op::converts; }) record.converts = Op::converts;
  if constexpr (requires { Op::folds; }) record.folds = Op::folds;
  if constexpr (requires { Op::target; }) record.target = Op::target;
  if constexpr (requires { Op::parts; }) record.parts = Op::parts;
  if constexpr (requires { Op::precision; }) record.precision = Op::precision;
  if constexpr (requires { Op::outputs; }) record.outputs = Op::outputs;
  if constexpr (requires { Op::ulp; }) record.tolerance_ulp = Op::ulp;
  if constexpr (requires { Op::ulp_of_largest; }) {
    record.tolerance_ulp = Op::ulp_of_largest;
    record.tolerance_of_largest = true;
  }
  if constexpr (requires { Op::ulp_unwidened; }) record.tolerance_unwidened = Op::ulp_unwidened;
  return record;
}

/// The one record of an op.
template <OpDefinition Op>
const OpRecord& record() {
  static const OpRecord made = make_record<Op>();
  return made;
}

}  // namespace tenure::ops
