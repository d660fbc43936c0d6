#include "tenure/ops/elementwise.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <string>
#include <string_view>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/derivatives.h"
#include "tenure/ops/elementwise/activation-inl.h"
#include "tenure/ops/elementwise/arithmetic-inl.h"
#include "tenure/ops/elementwise/comparison-inl.h"
#include "tenure/ops/elementwise/derivatives-inl.h"
#include "tenure/ops/elementwise/exponential-inl.h"
#include "tenure/ops/elementwise/logic-inl.h"
#include "tenure/ops/elementwise/selection-inl.h"
#include "tenure/ops/elementwise/source_expression.h"
#include "tenure/ops/elementwise/special-inl.h"
#include "tenure/ops/elementwise/trigonometric-inl.h"

// Makes records and functions of what the lists have.

namespace tenure::ops {
namespace {

/// What the inputs are called: said by the op, unless there is but one.
template <class Op>
constexpr std::string_view arguments_of() {
  if constexpr (Op::arity == 1) {
    return "x";
  } else {
    constexpr std::string_view names = Op::arguments;
    static_assert(std::count(names.begin(), names.end(), ',') == Op::arity - 1);
    return names;
  }
}

template <class Op>
long double reference(const long double* a) {
  if constexpr (Op::arity == 1) {
    return Op::reference(a[0]);
  } else if constexpr (Op::arity == 2) {
    return Op::reference(a[0], a[1]);
  } else {
    return Op::reference(a[0], a[1], a[2]);
  }
}

template <class Op>
std::vector<Sample> samples() {
  return elementwise_samples(Op::arity, Op::low, Op::high, Op::rule == TypeRule::select,
                             Op::refuses == Refusal::zero);
}

template <class Op>
[[gnu::cold]] std::optional<Source> print_body(DType type, std::span<const std::string> inputs,
                                               std::string_view prefix) {
  if (!computes_in<Op>(type)) return std::nullopt;
  if constexpr (computes_in<Op>(DType::float32)) {
    if (type == DType::float32) return print_as<Op, float>(type, inputs, prefix);
    if (type == DType::float64) return print_as<Op, double>(type, inputs, prefix);
  }
  if constexpr (computes_in<Op>(DType::boolean)) {
    if (type == DType::boolean) return print_as<Op, bool>(type, inputs, prefix);
  }
  if constexpr (computes_in<Op>(DType::int32)) {
    return print_as<Op, AnyInteger>(type, inputs, prefix);
  }
  return std::nullopt;
}

using Print = std::optional<Source> (*)(DType, std::span<const std::string>, std::string_view);

/// What a struct says, as data.
struct Definition {
  const char* name;
  std::string_view arguments;
  const char* doc;
  MemoryEffect memory;
  std::uint32_t types;
  double ulp;
  bool ulp_is_of_largest;
  double ulp_unwidened;
  ElementwiseRecord elementwise;
  std::vector<Sample> (*samples)();
  const GradientRule* gradient;
  Print print;
};

template <class Op>
constexpr Definition definition_of() {
  Definition d{.name = Op::name,
               .arguments = arguments_of<Op>(),
               .doc = Op::doc,
               .memory = reuses(Op::reuse),
               .types = Op::types,
               .ulp = Op::ulp,
               .ulp_is_of_largest = false,
               .ulp_unwidened = 0,
               .elementwise = {.rule = Op::rule,
                               .arity = Op::arity,
                               .cost = Op::cost,
                               .reference = reference<Op>,
                               .refuses = Op::refuses},
               .samples = samples<Op>,
               .gradient = nullptr,
               .print = print_body<Op>};
  if constexpr (requires { Op::ulp_of_largest; }) {
    d.ulp = Op::ulp_of_largest;
    d.ulp_is_of_largest = true;
  }
  if constexpr (requires { Op::ulp_unwidened; }) d.ulp_unwidened = Op::ulp_unwidened;
  ElementwiseRecord& e = d.elementwise;
  if constexpr (requires { Op::neutral; }) e.neutral = Op::neutral;
  if constexpr (requires { Op::last_limit; }) e.last_limit = Op::last_limit;
  if constexpr (requires { Op::undoes_itself; }) e.undoes_itself = Op::undoes_itself;
  if constexpr (requires { Op::gradient; }) d.gradient = &Op::gradient;
  return d;
}

template <class... Ops>
std::span<const Definition> definitions_of(List<Ops...>) {
  static constexpr Definition all[] = {definition_of<Ops>()...};
  return all;
}

/// One op's record, and what it refers to. It stays where it is.
struct Entry {
  ElementwiseRecord elementwise;
  OpRecord record;
  std::string signature;
  Print print = nullptr;
};

void fill(Entry& entry, const Definition& d, const char* family) {
  entry.elementwise = d.elementwise;
  entry.signature = fmt::format("{}({})", d.name, d.arguments);
  entry.print = d.print;
  OpRecord& op = entry.record;
  op.name = d.name;
  op.family = family;
  op.signature = entry.signature.c_str();
  op.doc = d.doc;
  op.memory = d.memory;
  op.dtypes = d.types;
  op.tolerance_ulp = d.ulp;
  op.tolerance_of_largest = d.ulp_is_of_largest;
  op.tolerance_unwidened = d.ulp_unwidened;
  op.may_fail = d.elementwise.refuses != Refusal::nothing;
  op.elementwise = &entry.elementwise;
  op.samples = d.samples;
  op.gradient = d.gradient;
}

template <class... Lists>
struct Joined;
template <class... Ops>
struct Joined<List<Ops...>> {
  using type = List<Ops...>;
};
template <class... A, class... B, class... More>
struct Joined<List<A...>, List<B...>, More...> : Joined<List<A..., B...>, More...> {};

/// All of them, in the order of their records.
using All = Joined<Arithmetic, Exponentials, Trigonometric, SpecialFunctions, Activations,
                   Comparisons, LogicAndBits, Selections, Derivatives>::type;

class Records {
 public:
  Records() : entries_(All::size) {
    add("arithmetic", definitions_of(Arithmetic()));
    add("roots, exponentials, logarithms, rounding", definitions_of(Exponentials()));
    add("trigonometric and hyperbolic", definitions_of(Trigonometric()));
    add("special functions", definitions_of(SpecialFunctions()));
    add("activation", definitions_of(Activations()));
    add("comparison", definitions_of(Comparisons()));
    add("logic and bits", definitions_of(LogicAndBits()));
    add("selection", definitions_of(Selections()));
    add("derivatives", definitions_of(Derivatives()));
  }

  template <class Op>
  const OpRecord& of() const {
    return entries_[index_of<Op>(All())].record;
  }
  const Entry* find(const OpRecord& op) const {
    const auto found = std::find_if(entries_.begin(), entries_.end(),
                                    [&](const Entry& entry) { return &entry.record == &op; });
    return found == entries_.end() ? nullptr : &*found;
  }
  std::vector<const OpRecord*> list() const {
    std::vector<const OpRecord*> list;
    for (const Entry& entry : entries_) list.push_back(&entry.record);
    return list;
  }

 private:
  void add(const char* family, std::span<const Definition> definitions) {
    for (const Definition& d : definitions) fill(entries_[size_++], d, family);
  }

  std::vector<Entry> entries_;
  std::size_t size_ = 0;
};

const Records& records() {
  static const auto& made = *new Records;
  return made;
}

template <class Op>
const OpRecord& record_of() {
  return records().of<Op>();
}

}  // namespace

std::vector<const OpRecord*> elementwise_ops() { return records().list(); }

std::optional<Source> source_of(const OpRecord& op, DType type, std::span<const std::string> inputs,
                                std::string_view prefix) {
  const Entry* const entry = records().find(op);
  return entry == nullptr ? std::nullopt : entry->print(type, inputs, prefix);
}

}  // namespace tenure::ops

namespace tenure {

using ops::call;
using ops::record_of;

#define TENURE_UNARY(function, Op) \
  Tensor function(const Operand& x) { return call(record_of<ops::Op>(), x); }
#define TENURE_BINARY(function, Op) \
  Tensor function(const Operand& a, const Operand& b) { return call(record_of<ops::Op>(), a, b); }
#define TENURE_TERNARY(function, Op)                                      \
  Tensor function(const Operand& a, const Operand& b, const Operand& c) { \
    return call(record_of<ops::Op>(), {a, b, c});                         \
  }
#define TENURE_BY_HAND(function, Op)
#define TENURE_FUNCTIONS(list) list(TENURE_UNARY, TENURE_BINARY, TENURE_TERNARY, TENURE_BY_HAND)

TENURE_FUNCTIONS(TENURE_ARITHMETIC)
TENURE_FUNCTIONS(TENURE_EXPONENTIALS)
TENURE_FUNCTIONS(TENURE_TRIGONOMETRIC)
TENURE_FUNCTIONS(TENURE_SPECIAL)
TENURE_FUNCTIONS(TENURE_ACTIVATIONS)
TENURE_FUNCTIONS(TENURE_COMPARISONS)
TENURE_FUNCTIONS(TENURE_LOGIC_AND_BITS)
TENURE_FUNCTIONS(TENURE_SELECTIONS)
TENURE_FUNCTIONS(TENURE_DERIVATIVES)

#undef TENURE_FUNCTIONS
#undef TENURE_BY_HAND
#undef TENURE_TERNARY
#undef TENURE_BINARY
#undef TENURE_UNARY

Tensor pow(const Operand& a, const Operand& b) {
  // The powers that networks use need no logarithm.
  if (b.is_scalar() && !a.is_scalar() &&
      (is_floating(a.tensor().dtype()) || b.scalar().kind == Scalar::Kind::integer)) {
    if (b.scalar().floating == 2) return square(a);
    if (b.scalar().floating == 0.5) return sqrt(a);
  }
  return call(record_of<ops::Pow>(), a, b);
}

}  // namespace tenure
