#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include "tenure/ops/core/define.h"

// What ops that are written in other ops share.

namespace tenure::ops {

/// Defaults of composites. What they take besides their results are the results of their parts.
struct CompositeOp {
  static constexpr auto memory = allocates().with_workspace();
};

/// The operands of a composite, and where its parts stand: at the line of its call.
class Expansion {
 public:
  explicit Expansion(std::span<const Operand> operands) : operands_(operands) {}

  Site site() const { return operands_[0].site(); }
  /// Operand i, to read: a composite leaves its operands as they are.
  Operand operator[](std::size_t i) const {
    const Operand& given = operands_[i];
    return given.is_scalar() ? given : Operand(std::as_const(given.tensor()), site());
  }
  /// What a part has made, to read, or, if it is moved or not kept, to use up.
  Operand operator()(const Tensor& made) const { return {made, site()}; }
  Operand operator()(Tensor&& made) const { return {std::move(made), site()}; }
  Operand operator()(double number) const { return {number, site()}; }

 private:
  std::span<const Operand> operands_;
};

/// A number that a call may leave out: nothing is there then.
inline Attribute to_attribute(const std::optional<double>& number) {
  Attribute attribute;
  if (number) attribute = *number;
  return attribute;
}
inline std::optional<double> optional_number(const Attributes& a, int place) {
  if (std::holds_alternative<std::monostate>(a[place])) return std::nullopt;
  return a.number(place);
}

}  // namespace tenure::ops
