#include "tenure/ops/index/operands.h"

#include <fmt/format.h>

#include "tenure/memory/default_device.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {

TensorBody& body_of(const Operand& x, const char* op) {
  if (x.is_scalar()) throw ValueError(fmt::format("{}: a number has no axes; use tensor()", op));
  return x.tensor().body(op, x.site());
}

void check_index_type(const View& indices, const char* op) {
  if ((kIndexTypes >> static_cast<int>(indices.dtype) & 1) != 0) return;
  throw DTypeError(op,
                   fmt::format("indices are int32 or int64, and masks bool, not {}: cast() them",
                               name_of(indices.dtype)));
}

void check_same_type(const View& x, const View& values, const char* op) {
  if (x.dtype == values.dtype) return;
  throw DTypeError(op,
                   fmt::format("cannot put {} into {}", name_of(values.dtype), name_of(x.dtype)));
}

void check_kind(const Scalar& number, DType dtype, const char* op) {
  const bool is_bit = number.kind == Scalar::Kind::integer && (number.integer & ~1) == 0;
  if (number.kind == Scalar::Kind::boolean || is_floating(dtype)) return;
  if (dtype == DType::boolean ? is_bit : number.kind == Scalar::Kind::integer) return;
  throw DTypeError(op,
                   fmt::format("{} does not hold the number {}", name_of(dtype), number.floating));
}

Tensor converted(const Operand& values, const TensorBody& x, const char* op) {
  const DType dtype = x.dtype;
  if (values.is_scalar()) {
    const DeviceScope device(x.device());
    check_kind(values.scalar(), dtype, op);
    return full({}, values.scalar(), dtype, values.site());
  }
  const DType own = values.tensor().body(op, values.site()).dtype;
  if (own == dtype) return values.tensor();
  if (promote(own, dtype) != dtype) {
    throw DTypeError(
        op, fmt::format("cannot put {} into {}; use cast()", name_of(own), name_of(dtype)));
  }
  return cast(Operand(values.tensor(), values.site()), dtype);
}

}  // namespace tenure::ops
