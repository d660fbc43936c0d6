#pragma once

#include <cstddef>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/record.h"

// Note: how an elementwise op is written
//
// It is a struct in one of the -inl.h files of this folder, with
//
//   name, doc          what `tenure ops` prints
//   arguments          what its inputs are called: "x, slope". Those of one input have "x"
//   apply              the body, generic in the kind of value (value_kinds.h)
//   reference          the same in long double, for the harness
//   cost, ulp          its work relative to an addition, and the error that it promises
//   low, high          the range from which the harness draws inputs
//   backward, gradient its gradient over public ops, and what that reads (core/gradient.h)
//   refuses            integers that its last input may not have
//
// and, inherited from Map, Float, Test, Logic or Bits, the arity, the type rule and the accepted
// types. The file ends with the list of its ops.

namespace tenure::ops {

template <class... Ops>
struct List {
  static constexpr std::size_t size = sizeof...(Ops);
};
template <class First, class... Ops>
struct AllButFirst {
  using type = List<Ops...>;
};
/// For lists that macros write, with a comma before each op.
template <class... Ops>
using ListOf = typename AllButFirst<Ops...>::type;
#define TENURE_LISTED(function, Op) , Op

template <class Op, class... Ops>
consteval std::size_t index_of(List<Ops...>) {
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<Op, Ops> || (++index, false)) || ...));
  return index;
}

/// Defaults of all elementwise ops.
template <int inputs, TypeRule type_rule, std::uint32_t type_set>
struct ElementwiseDefaults {
  static constexpr int arity = inputs;
  static constexpr TypeRule rule = type_rule;
  static constexpr std::uint32_t types = type_set;
  static constexpr double cost = 1;
  static constexpr double ulp = 0.5;
  static constexpr double low = -3;
  static constexpr double high = 3;
  static constexpr auto refuses = Refusal::nothing;
  static constexpr std::uint8_t reuse = (1 << inputs) - 1;
};
/// T... -> T.
template <int inputs, std::uint32_t types = kAllTypes>
using Map = ElementwiseDefaults<inputs, TypeRule::arithmetic, types>;
/// The same in floats; integers become float32.
template <int inputs>
struct Float : ElementwiseDefaults<inputs, TypeRule::floating, kAllTypes> {
  static constexpr double cost = 8;
};
/// T... -> bool. In place only where a bool comes in.
template <int inputs, std::uint32_t types = kAllTypes>
using Test = ElementwiseDefaults<inputs, TypeRule::comparison, types>;
template <int inputs>
using Logic = ElementwiseDefaults<inputs, TypeRule::logic, kAllTypes>;
template <int inputs, std::uint32_t types = kIntegerTypes | 1u>
using Bits = ElementwiseDefaults<inputs, TypeRule::bits, types>;

/// Whether an op has a body for elements of a type. None has for 16-bit floats, which are computed
/// with in float32.
template <class Op>
constexpr bool computes_in(DType type) {
  if (widened_type(type) != type) return false;
  switch (Op::rule) {
    case TypeRule::select:
      return true;
    case TypeRule::logic:
      return type == DType::boolean;
    case TypeRule::floating:
      return is_floating(type);
    default:
      return (Op::types >> static_cast<int>(type) & 1) != 0;
  }
}

/// What the harness calls an elementwise op with: in samples.cpp.
std::vector<Sample> elementwise_samples(int arity, double low, double high, bool selects,
                                        bool divides);

}  // namespace tenure::ops
