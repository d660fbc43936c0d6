#pragma once

#include <span>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

/// What decides types of an operand: a tensor's element type, or what kind of number it is.
struct OperandType {
  DType dtype{};
  bool is_number = false;
  Scalar::Kind kind{};  ///< of a number
};
OperandType type_of(const Operand& operand);

/// The element type in which operands meet: tensors promote, numbers only if their kind is above
/// every tensor's.
DType common_type(std::span<const OperandType> operands);
DType common_type(std::span<const Operand> operands);

/// The types of one elementwise call.
struct ElementwiseTypes {
  DType common{};                     ///< in which the operands meet; all else follows
  std::array<DType, kMaxArity> in{};  ///< what the body reads
  DType compute{};                    ///< which body
  DType body_out{};                   ///< what the body writes
  DType result{};                     ///< what the caller gets
};
/// Throws DTypeError where the op does not take the operands' types.
ElementwiseTypes elementwise_types(const OpRecord& op, std::span<const OperandType> operands);
ElementwiseTypes elementwise_types(const OpRecord& op, std::span<const Operand> operands);
/// Of operands that meet in a type, which the op takes.
ElementwiseTypes elementwise_types(const OpRecord& op, DType common);

/// Throws DTypeError, which lists what the op takes, unless its first input may be of this type.
void require_type(const OpRecord& op, DType dtype);

/// Writes a number as an element. Throws ValueError if an integer type cannot hold it.
void store_scalar(const Scalar& scalar, DType dtype, void* to, const char* op);

/// A number as an attribute, and back.
Attribute to_attribute(const Scalar& scalar);
Scalar to_scalar(const Attribute& attribute);

}  // namespace tenure::ops
