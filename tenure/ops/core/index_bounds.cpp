#include "tenure/ops/core/index_bounds.h"

#include "tenure/tensor/integer_notes.h"

namespace tenure::ops {

IntegerRange integers_of(const Pin& pin, Backend& device) {
  if (const std::optional<IntegerRange> noted = noted_integers(pin)) return *noted;
  const TensorBody& body = *pin.body();
  const IntegerRange range = device.integer_range(
      {.dtype = body.dtype, .shape = body.shape, .strides = body.strides, .data = pin.data()});
  note_integers(body, range);
  return range;
}

bool hold(const IndexBound& bound, const Pin& pin, Backend& device) {
  const DType type = pin.body()->dtype;
  return (type == DType::int32 || type == DType::int64) && holds(bound, integers_of(pin, device));
}

}  // namespace tenure::ops
