#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/record.h"

// Note: how an elementwise op is written
//
// A family of ops is one source file that Highway compiles once per instruction set. Each op in it
// is a struct with
//
//   name, doc        what `tenure ops` prints
//   apply            the functor, generic in its value type (kernels/cpu/elementwise/value-inl.h)
//   reference        the same in long double, for the harness
//   low, high        the range from which the harness draws inputs
//   gradient         its rule, run by a function of gradients.h, if it is differentiable
//
// and, inherited from Map, Float, Test or Bits, the arity, the type rule and the accepted types.
// The file ends with the list of its ops, from which records and bodies are made, and with the
// public functions.

namespace tenure::ops {

template <class... Ops>
struct List {
  static constexpr std::size_t size = sizeof...(Ops);
};

template <class Op, class... Ops>
consteval std::size_t index_of(List<Ops...>) {
  std::size_t index = 0;
  static_cast<void>(((std::is_same_v<Op, Ops> || (++index, false)) || ...));
  return index;
}

using Bodies = std::array<kernels::Body, kDTypes>;

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
  static constexpr bool divides = false;  ///< an integer 0 as last input is an error
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

/// The records of a family, in the order of its list. They refer to each other's parts, so the
/// object stays where it is.
class Family {
 public:
  template <class... Ops>
  Family(const char* name, List<Ops...> list, const Bodies* bodies)
      : elementwise_(list.size), records_(list.size) {
    std::size_t i = 0;
    ((fill<Ops>(name, bodies[i], elementwise_[i], records_[i]), ++i), ...);
  }
  Family(const Family&) = delete;
  Family& operator=(const Family&) = delete;

  const OpRecord& operator[](std::size_t i) const { return records_[i]; }
  const std::vector<OpRecord>& records() const { return records_; }

 private:
  template <class Op>
  static long double reference(const long double* a) {
    if constexpr (Op::arity == 1) {
      return Op::reference(a[0]);
    } else if constexpr (Op::arity == 2) {
      return Op::reference(a[0], a[1]);
    } else {
      return Op::reference(a[0], a[1], a[2]);
    }
  }
  template <class Op>
  static std::vector<Sample> samples() {
    return elementwise_samples(Op::arity, Op::low, Op::high, Op::rule == TypeRule::select,
                               Op::divides);
  }
  static std::vector<Sample> elementwise_samples(int arity, double low, double high, bool selects,
                                                 bool divides);
  static const char* signature(const char* name, int arity);

  template <class Op>
  static void fill(const char* family, const Bodies& bodies, ElementwiseRecord& e, OpRecord& op) {
    e = {.rule = Op::rule,
         .arity = Op::arity,
         .cost = Op::cost,
         .bodies = bodies,
         .reference = reference<Op>};
    if constexpr (requires { Op::check; }) {
      e.check = Op::check;
      op.may_fail = true;
    }
    if constexpr (requires { Op::neutral; }) e.neutral = Op::neutral;
    if constexpr (requires { Op::last_limit; }) e.last_limit = Op::last_limit;
    if constexpr (requires { Op::undoes_itself; }) e.undoes_itself = Op::undoes_itself;
    op.name = Op::name;
    op.family = family;
    op.signature = signature(Op::name, Op::arity);
    op.doc = Op::doc;
    op.memory = reuses(Op::reuse);
    op.dtypes = Op::types;
    op.tolerance_ulp = Op::ulp;
    if constexpr (requires { Op::ulp_of_largest; }) {
      op.tolerance_ulp = Op::ulp_of_largest;
      op.tolerance_of_largest = true;
    }
    op.elementwise = &e;
    op.samples = samples<Op>;
    if constexpr (requires { Op::gradient; }) op.gradient = &Op::gradient;
  }

  std::vector<ElementwiseRecord> elementwise_;
  std::vector<OpRecord> records_;
};

}  // namespace tenure::ops
