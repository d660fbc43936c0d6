#include "tenure/ops/operators.h"

#include <fmt/format.h>

#include <array>

#include "tenure/memory/holders/standing.h"
#include "tenure/ops/core/list.h"
#include "tenure/ops/core/named.h"
#include "tenure/ops/core/types.h"
#include "tenure/ops/shape_ops.h"

namespace tenure {
namespace {

using ops::OpRecord;

/// Whether broadcasting against `b` makes more of `a`, as far as is known.
bool grows(const Shape& a, const Shape& b) {
  const int lead = a.size() - b.size();
  if (lead < 0) return true;
  for (int i = 0; i < b.size(); ++i) {
    if (a[lead + i] == 1 && b[i] != 1 && b[i] != kUnknown) return true;
  }
  return false;
}

/// Whether it may do so in a run, where `a` has a size of 1 that is unknown yet.
bool may_grow(const Shape& a, const Shape& b) {
  const int lead = a.size() - b.size();
  for (int i = 0; i < b.size(); ++i) {
    if (a[lead + i] == kUnknown && b[i] != 1) return true;
  }
  return false;
}

void require_kept(const OpRecord& op, const TensorBody& a, const Operand& b) {
  const std::array types{ops::OperandType{.dtype = a.dtype}, ops::type_of(b)};
  const DType result = ops::elementwise_types(op, types).result;
  if (result != a.dtype) {
    throw DTypeError(op.name,
                     fmt::format("a compound assignment keeps the type of its left side: {} would "
                                 "become {}; cast the right side, or assign the result of {}()",
                                 name_of(a.dtype), name_of(result), op.name));
  }
  if (b.is_scalar()) return;
  const Shape& other = b.tensor().body(op.name, b.site()).shape;
  if (grows(a.shape, other)) {
    throw ShapeError(op.name,
                     fmt::format("a compound assignment keeps the shape of its left side: {} would "
                                 "grow by {}; assign the result of {}()",
                                 to_string(a.shape), to_string(other), op.name),
                     {a.shape.to_vector(), other.to_vector()});
  }
}

/// Throws EmptyTensorError and the like as the op itself does.
Tensor& update(Tensor& a, const OpRecord& op, const Operand& b) {
  const Site site = b.site();
  const TensorBody& body = a.body(op.name, site);
  try {
    if (!b.is_scalar()) static_cast<void>(b.tensor().body(op.name, site));
    require_kept(op, body, b);
  } catch (Error& error) {
    ops::name_call(error, op.name, std::array{Operand(std::as_const(a), site), b}, site);
    throw;
  }
  const mem::Standing standing(body);
  Tensor result;
  if (body.symbol() != nullptr && !b.is_scalar() && b.tensor().body_or_null() != &body &&
      may_grow(body.shape, b.tensor().body_or_null()->shape)) {
    const Tensor fitted =
        broadcast_like(Operand(std::as_const(b.tensor()), site), Operand(a, site));
    result = ops::call(op, Operand(a, site), Operand(fitted, site));
    b.consume();
  } else {
    result = ops::call(op, Operand(std::move(a), site), b);
  }
  standing.pass_to(result.body(op.name, site));
  return a = std::move(result);
}

}  // namespace

#define TENURE_COMPOUND(sign, name)                    \
  Tensor& operator sign(Tensor& a, const Operand& b) { \
    static constinit ops::NamedOp op(name);            \
    return update(a, *op, b);                          \
  }
TENURE_COMPOUND(+=, "add")
TENURE_COMPOUND(-=, "sub")
TENURE_COMPOUND(*=, "mul")
TENURE_COMPOUND(/=, "div")
TENURE_COMPOUND(%=, "remainder")
TENURE_COMPOUND(&=, "bitwise_and")
TENURE_COMPOUND(|=, "bitwise_or")
TENURE_COMPOUND(^=, "bitwise_xor")
TENURE_COMPOUND(<<=, "left_shift")
TENURE_COMPOUND(>>=, "right_shift")
#undef TENURE_COMPOUND

}  // namespace tenure
