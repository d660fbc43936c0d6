#include "tenure/ops/core/types.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "tenure/ops/core/compute_type.h"

namespace tenure::ops {
namespace {

Scalar::Kind kind_of(DType dtype) {
  if (dtype == DType::boolean) return Scalar::Kind::boolean;
  return is_floating(dtype) ? Scalar::Kind::floating : Scalar::Kind::integer;
}

}  // namespace

void require_type(const OpRecord& op, DType dtype) {
  if (op.takes(dtype)) return;
  std::string taken;
  for (int i = 0; i < kDTypes; ++i) {
    if (op.takes(static_cast<DType>(i))) {
      taken += fmt::format("{}{}", taken.empty() ? "" : ", ", name_of(static_cast<DType>(i)));
    }
  }
  throw DTypeError(op.name, fmt::format("does not take {}; it takes {}", name_of(dtype), taken));
}

OperandType type_of(const Operand& operand) {
  if (!operand.is_scalar()) return {.dtype = operand.tensor().dtype()};
  const Scalar& scalar = operand.scalar();
  return {.dtype = scalar.dtype(), .is_number = true, .kind = scalar.kind};
}

DType common_type(std::span<const OperandType> operands) {
  bool any_tensor = false;
  DType type = DType::boolean;
  for (const OperandType& operand : operands) {
    if (operand.is_number) continue;
    type = any_tensor ? promote(type, operand.dtype) : operand.dtype;
    any_tensor = true;
  }
  for (const OperandType& operand : operands) {
    if (!operand.is_number) continue;
    if (!any_tensor || operand.kind > kind_of(type)) {
      type = any_tensor ? operand.dtype : promote(type, operand.dtype);
    }
  }
  return type;
}

DType common_type(std::span<const Operand> operands) {
  std::vector<OperandType> types;
  for (const Operand& operand : operands) types.push_back(type_of(operand));
  return common_type(types);
}

ElementwiseTypes elementwise_types(const OpRecord& op, std::span<const Operand> operands) {
  std::array<OperandType, kMaxArity> types;
  for (std::size_t i = 0; i < operands.size(); ++i) types[i] = type_of(operands[i]);
  return elementwise_types(op, std::span<const OperandType>(types.data(), operands.size()));
}

ElementwiseTypes elementwise_types(const OpRecord& op, std::span<const OperandType> operands) {
  const bool selects = op.elementwise->rule == TypeRule::select;
  const DType common = common_type(selects ? operands.subspan(1) : operands);
  if (selects) {
    const DType type = operands[0].dtype;
    if (type != DType::boolean) {
      throw DTypeError(op.name, fmt::format("the condition is {}, not bool", name_of(type)));
    }
  } else {
    require_type(op, common);
  }
  return elementwise_types(op, common);
}

ElementwiseTypes elementwise_types(const OpRecord& op, DType common) {
  const ElementwiseRecord& e = *op.elementwise;
  if (e.rule == TypeRule::floating && !is_floating(common)) common = DType::float32;
  ElementwiseTypes types{.common = common};
  types.compute = e.rule == TypeRule::logic ? DType::boolean : widened_type(common);
  types.in.fill(types.compute);
  if (e.rule == TypeRule::select) types.in[0] = DType::boolean;
  const bool tests = e.rule == TypeRule::comparison || e.rule == TypeRule::logic;
  types.body_out = tests ? DType::boolean : types.compute;
  types.result = tests ? DType::boolean : common;
  return types;
}

void store_scalar(const Scalar& scalar, DType dtype, void* to, const char* op) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T value;
    if constexpr (std::is_same_v<T, bool>) {
      value = scalar.floating != 0;
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits =
          scalar.kind == Scalar::Kind::floating
              ? scalar.floating >= static_cast<double>(std::numeric_limits<T>::min()) &&
                    scalar.floating <= static_cast<double>(std::numeric_limits<T>::max()) &&
                    (sizeof(T) < 8 || scalar.floating < 0x1p63)
              : scalar.integer >= std::numeric_limits<T>::min() &&
                    scalar.integer <= std::numeric_limits<T>::max() && !scalar.is_beyond_int64;
      if (!fits) {
        throw ValueError(fmt::format("{}: the number {} does not fit in {}", op, scalar.floating,
                                     name_of(dtype)));
      }
      value = scalar.kind == Scalar::Kind::floating ? static_cast<T>(scalar.floating)
                                                    : static_cast<T>(scalar.integer);
    } else {
      // From the integer where there is one: a double would round large ones first.
      const bool integral = scalar.kind == Scalar::Kind::integer && !scalar.is_beyond_int64;
      if constexpr (NarrowFloat<T>) {
        value = integral ? round_to<T>(scalar.integer) : round_to<T>(scalar.floating);
      } else {
        value = integral ? static_cast<T>(scalar.integer) : static_cast<T>(scalar.floating);
      }
    }
    *static_cast<T*>(to) = value;
  });
}

Attribute to_attribute(const Scalar& scalar) {
  if (scalar.kind == Scalar::Kind::floating || scalar.is_beyond_int64) return scalar.floating;
  if (scalar.kind == Scalar::Kind::integer) return scalar.integer;
  return scalar.integer != 0;
}

Scalar to_scalar(const Attribute& attribute) {
  if (const auto* const value = std::get_if<double>(&attribute)) return *value;
  if (const auto* const value = std::get_if<std::int64_t>(&attribute)) return *value;
  const auto* const value = std::get_if<bool>(&attribute);
  internal_check(value != nullptr, "an attribute is no number");
  return *value;
}

}  // namespace tenure::ops
