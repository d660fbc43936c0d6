#include "tenure/kernels/cpu/reduce/finite.h"

namespace tenure::kernels {
namespace {

/// Numbers that are not finite have all bits of the exponent.
template <class Bits>
std::int64_t find(const void* elements, std::size_t n, Bits exponent) {
  const auto* const bits = static_cast<const Bits*>(elements);
  for (std::size_t i = 0; i < n; ++i) {
    if ((bits[i] & exponent) == exponent) return static_cast<std::int64_t>(i);
  }
  return -1;
}

}  // namespace

std::int64_t find_not_finite(DType dtype, const void* elements, std::size_t n) {
  switch (dtype) {
    case DType::float64:
      return find<std::uint64_t>(elements, n, 0x7ff0000000000000u);
    case DType::float32:
      return find<std::uint32_t>(elements, n, 0x7f800000u);
    case DType::float16:
      return find<std::uint16_t>(elements, n, 0x7c00u);
    case DType::bfloat16:
      return find<std::uint16_t>(elements, n, 0x7f80u);
    default:
      return -1;
  }
}

}  // namespace tenure::kernels
