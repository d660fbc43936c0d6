#include "tenure/ops/nn/loss.h"

#include <fmt/format.h>

#include "tenure/ops/elementwise.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::ops {

void require_type_of_first(const Kernel& k, std::size_t i) {
  if (k.in[i].dtype == k.in[0].dtype) return;
  throw DTypeError(k.op, fmt::format("takes floats of one type, not {} and {}; use cast",
                                     name_of(k.in[0].dtype), name_of(k.in[i].dtype)));
}

void require_shape(const Kernel& k, std::size_t i, const char* what, const Shape& shape) {
  const Shape& given = k.in[i].shape;
  if (given == shape) return;
  throw ShapeError(k.op,
                   fmt::format("{} have shape {}, not {}, for predictions of shape {}", what,
                               to_string(shape), to_string(given), to_string(k.in[0].shape)),
                   {k.in[0].shape.to_vector(), given.to_vector()});
}

void require_classes(const Kernel& k) {
  const Shape& shape = k.in[0].shape;
  if (!shape.empty() && shape.back() != 0) return;
  throw ShapeError(k.op, fmt::format("the last axis of logits {} has no classes", to_string(shape)),
                   {shape.to_vector()});
}

void require_class_targets(const Kernel& k, const char* what) {
  const DType targets = k.in[1].dtype;
  if (targets != DType::int32 && targets != DType::int64) {
    throw DTypeError(k.op, fmt::format("targets are {}, not {}", what, name_of(targets)));
  }
  require_shape(k, 1, "classes", rows_of(k.in[0].shape));
}

std::vector<View> specs_of(const char* op, std::span<const Operand> operands) {
  std::vector<View> views;
  for (const Operand& operand : operands) {
    if (operand.is_scalar()) throw ShapeError(op, "takes tensors, not numbers");
    const TensorBody& body = operand.tensor().body(op, operand.site());
    views.push_back({.dtype = body.dtype, .shape = body.shape});
  }
  return views;
}

Tensor widened(const Operand& x) {
  const Operand read(x.tensor(), x.site());
  return size_of(x.tensor().dtype()) == 2 ? cast(read, DType::float32) : x.tensor();
}

Tensor reduced(Tensor each, Reduction reduction, DType dtype, Site site) {
  if (reduction != Reduction::none) {
    const double scale = scale_of(reduction, count(each.shape()));
    each = sum({std::move(each), site});
    if (scale != 1) each = mul({std::move(each), site}, {scale, site});
  }
  return each.dtype() == dtype ? each : cast({std::move(each), site}, dtype);
}

std::vector<Reference> reduced(Reference each, Reduction reduction) {
  if (reduction == Reduction::none) return {std::move(each)};
  long double sum = 0;
  for (const long double one : each.values) sum += one;
  return {{.shape = {}, .values = {sum * scale_of(reduction, count(each.shape))}}};
}

}  // namespace tenure::ops
