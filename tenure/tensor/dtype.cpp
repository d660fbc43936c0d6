#include "tenure/tensor/dtype.h"

#include <algorithm>
#include <ostream>

namespace tenure {

#define TENURE_ELEMENT(dtype, T, text) \
  static_assert(DType::dtype == dtype_of<T>() && name_of(DType::dtype) == (text));
TENURE_ELEMENT_TYPES(TENURE_ELEMENT)  // which stand in the order of DType
#undef TENURE_ELEMENT

std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name_of(dtype); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  const DType low = std::min(a, b);
  const DType high = std::max(a, b);
  // uint8 and int8 hold no common value range below int16; the two 16-bit floats none below
  // float32.
  if (low == DType::uint8 && high == DType::int8) return DType::int16;
  if (low == DType::float16 && high == DType::bfloat16) return DType::float32;
  return high;
}

}  // namespace tenure
