#include "tenure/ops/nn/loss.h"

#include <fmt/format.h>

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

}  // namespace tenure::ops
