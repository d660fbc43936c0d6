#pragma once

#include <cstddef>
#include <deque>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "tenure/ops/core/record.h"

// A kind of value (value_kinds.h) that prints what is done with it: the body of an elementwise op
// becomes the source of a kernel. The source is C++ that is CUDA too: it calls functions of the C
// library that are overloaded for float and double, and those of words.h.

namespace tenure::ops {

/// Source that computes an op: statements, then an expression.
struct Source {
  std::string statements;
  std::string result;
};

/// A part of an expression; in the arena of the print that it is made for. Expressions share their
/// parts: one that is used more than once is computed once, in a variable.
struct SourceNode;

/// A part, or a number, which has the type of what it meets.
struct SourceValue {
  const SourceNode* part = nullptr;
  double number = 0;
};

/// What `form` says of the parts: "($0 + $1)", where $i is part i and $T the name of their type.
/// One at least is no number. The result has their type, and that of a test is bool.
SourceValue apply_form(std::string_view form, std::initializer_list<SourceValue> parts);
SourceValue test_form(std::string_view form, std::initializer_list<SourceValue> parts);
SourceValue select_form(SourceValue condition, SourceValue a, SourceValue b);

/// "float", "std::int32_t", ...
std::string source_type(DType type);

/// Stands for any type of integers.
struct AnyInteger {};

/// T: float, double, bool or AnyInteger.
template <class T>
struct Printed : SourceValue {
  using Scalar = T;
  static constexpr bool is_float = std::is_floating_point_v<T>;
  static constexpr bool is_bool = std::is_same_v<T, bool>;

  explicit Printed(SourceValue value) : SourceValue(value) {}
  template <class U>
  requires std::is_arithmetic_v<U> Printed(U number)
      : SourceValue{.number = static_cast<double>(number)} {}

  static Printed make(std::string_view form, Printed a) { return Printed(apply_form(form, {a})); }
  static Printed make(std::string_view form, Printed a, Printed b) {
    return Printed(apply_form(form, {a, b}));
  }
  static Printed<bool> test(std::string_view form, Printed a, Printed b) {
    return Printed<bool>(test_form(form, {a, b}));
  }

  friend Printed operator+(Printed a, Printed b) {
    if constexpr (is_bool) return a | b;
    return make(is_float ? "($0 + $1)" : "($T)((std::uint64_t)$0 + (std::uint64_t)$1)", a, b);
  }
  friend Printed operator-(Printed a, Printed b) {
    return make(is_float ? "($0 - $1)" : "($T)((std::uint64_t)$0 - (std::uint64_t)$1)", a, b);
  }
  friend Printed operator*(Printed a, Printed b) {
    if constexpr (is_bool) return a & b;
    return make(is_float ? "($0 * $1)" : "($T)((std::uint64_t)$0 * (std::uint64_t)$1)", a, b);
  }
  friend Printed operator/(Printed a, Printed b) {
    return make(is_float ? "over($0, $1)" : "($0 / $1)", a, b);
  }
  friend Printed operator-(Printed a) {
    return make(is_float ? "(-$0)" : "($T)(-(std::uint64_t)$0)", a);
  }
  friend Printed operator&(Printed a, Printed b) { return make("($T)($0 & $1)", a, b); }
  friend Printed operator|(Printed a, Printed b) { return make("($T)($0 | $1)", a, b); }
  friend Printed operator^(Printed a, Printed b) { return make("($T)($0 ^ $1)", a, b); }
  friend Printed operator~(Printed a) { return make(is_bool ? "(!$0)" : "($T)(~$0)", a); }
  friend Printed<bool> operator==(Printed a, Printed b) { return test("($0 == $1)", a, b); }
  friend Printed<bool> operator!=(Printed a, Printed b) { return test("($0 != $1)", a, b); }
  friend Printed<bool> operator<(Printed a, Printed b) { return test("($0 < $1)", a, b); }
  friend Printed<bool> operator<=(Printed a, Printed b) { return test("($0 <= $1)", a, b); }
  friend Printed<bool> operator>(Printed a, Printed b) { return test("($0 > $1)", a, b); }
  friend Printed<bool> operator>=(Printed a, Printed b) { return test("($0 >= $1)", a, b); }
  friend Printed select(Printed<bool> m, Printed a, Printed b) {
    return Printed(select_form(m, a, b));
  }
  friend Printed<bool> is_nan(Printed a) { return test("($0 != $1)", a, a); }

  friend Printed max(Printed a, Printed b) {
    if constexpr (is_bool) return a | b;
    return make("maximum($0, $1)", a, b);
  }
  friend Printed min(Printed a, Printed b) {
    if constexpr (is_bool) return a & b;
    return make("minimum($0, $1)", a, b);
  }
  friend Printed abs(Printed a) {
    if constexpr (is_bool) return a;
    return is_float ? make("fabs($0)", a) : select(a < Printed(0), -a, a);
  }
  friend Printed fma(Printed a, Printed b, Printed c) {
    return Printed(apply_form("fma($0, $1, $2)", {a, b, c}));
  }
  friend Printed product_error(Printed a, Printed b, Printed product) {
    return Printed(apply_form("fma($0, $1, -$2)", {a, b, product}));
  }
  friend Printed pow(Printed a, Printed b) {
    return make(is_float ? "pow($0, $1)" : "integer_power($0, $1)", a, b);
  }
  friend Printed round(Printed a) { return make(is_float ? "nearbyint($0)" : "$0", a); }
  friend Printed floor(Printed a) { return make(is_float ? "floor($0)" : "$0", a); }
  friend Printed ceil(Printed a) { return make(is_float ? "ceil($0)" : "$0", a); }
  friend Printed trunc(Printed a) { return make(is_float ? "trunc($0)" : "$0", a); }
#define TENURE_PRINTED_FUNCTION(name) \
  friend Printed name(Printed a) { return make(#name "($0)", a); }
  TENURE_PRINTED_FUNCTION(sqrt)
  TENURE_PRINTED_FUNCTION(cbrt)
  TENURE_PRINTED_FUNCTION(exp)
  TENURE_PRINTED_FUNCTION(exp2)
  TENURE_PRINTED_FUNCTION(expm1)
  TENURE_PRINTED_FUNCTION(log)
  TENURE_PRINTED_FUNCTION(log2)
  TENURE_PRINTED_FUNCTION(log10)
  TENURE_PRINTED_FUNCTION(log1p)
  TENURE_PRINTED_FUNCTION(sin)
  TENURE_PRINTED_FUNCTION(cos)
  TENURE_PRINTED_FUNCTION(tan)
  TENURE_PRINTED_FUNCTION(asin)
  TENURE_PRINTED_FUNCTION(acos)
  TENURE_PRINTED_FUNCTION(atan)
  TENURE_PRINTED_FUNCTION(sinh)
  TENURE_PRINTED_FUNCTION(cosh)
  TENURE_PRINTED_FUNCTION(tanh)
  TENURE_PRINTED_FUNCTION(asinh)
  TENURE_PRINTED_FUNCTION(acosh)
  TENURE_PRINTED_FUNCTION(atanh)
  TENURE_PRINTED_FUNCTION(erf)
  TENURE_PRINTED_FUNCTION(erfc)
  TENURE_PRINTED_FUNCTION(log_gamma)
  TENURE_PRINTED_FUNCTION(inverse_erf)
  TENURE_PRINTED_FUNCTION(digamma)
  TENURE_PRINTED_FUNCTION(sigmoid)
  TENURE_PRINTED_FUNCTION(normal_tail)
  TENURE_PRINTED_FUNCTION(wide_gelu)
#undef TENURE_PRINTED_FUNCTION
#define TENURE_PRINTED_FUNCTION(name) \
  friend Printed name(Printed a, Printed b) { return make(#name "($0, $1)", a, b); }
  TENURE_PRINTED_FUNCTION(atan2)
  TENURE_PRINTED_FUNCTION(capped)
  TENURE_PRINTED_FUNCTION(floor_divide)
  TENURE_PRINTED_FUNCTION(floor_remainder)
  TENURE_PRINTED_FUNCTION(truncated_remainder)
  TENURE_PRINTED_FUNCTION(hypot)
  TENURE_PRINTED_FUNCTION(shift_left)
  TENURE_PRINTED_FUNCTION(shift_right)
#undef TENURE_PRINTED_FUNCTION
};

/// Prints one expression of inputs that have these texts.
class SourcePrinter {
 public:
  /// Variables are called `prefix` and a number.
  SourcePrinter(std::span<const std::string> inputs, std::string_view prefix);
  ~SourcePrinter();
  SourcePrinter(const SourcePrinter&) = delete;
  SourcePrinter& operator=(const SourcePrinter&) = delete;

  SourceValue input(std::size_t i, DType type);
  Source print(SourceValue result) const;

 private:
  std::span<const std::string> inputs_;
  std::string_view prefix_;
  std::unique_ptr<std::deque<SourceNode>> arena_;
};

/// The source of an op's body that computes in `type`.
template <class Op, class T>
[[gnu::cold]] Source print_as(DType type, std::span<const std::string> inputs,
                              std::string_view prefix) {
  SourcePrinter printer(inputs, prefix);
  const auto input = [&](std::size_t i) { return Printed<T>(printer.input(i, type)); };
  if constexpr (Op::rule == TypeRule::select) {
    const Printed<bool> condition(printer.input(0, DType::boolean));
    return printer.print(Op::apply(condition, input(1), input(2)));
  } else if constexpr (Op::arity == 1) {
    return printer.print(Op::apply(input(0)));
  } else if constexpr (Op::arity == 2) {
    return printer.print(Op::apply(input(0), input(1)));
  } else {
    return printer.print(Op::apply(input(0), input(1), input(2)));
  }
}

/// The source of an elementwise op that computes in `type`, for kernels that are made at run time;
/// none if it has no body for that type, or the op is none of ours. In elementwise.cpp.
std::optional<Source> source_of(const OpRecord& op, DType type, std::span<const std::string> inputs,
                                std::string_view prefix);

}  // namespace tenure::ops
