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
  if (!is_floating(dtype)) return -1;
  const std::uint64_t exponent = element_type(dtype).format.infinity();
  switch (size_of(dtype)) {
    case 8:
      return find<std::uint64_t>(elements, n, exponent);
    case 4:
      return find<std::uint32_t>(elements, n, static_cast<std::uint32_t>(exponent));
    default:
      return find<std::uint16_t>(elements, n, static_cast<std::uint16_t>(exponent));
  }
}

}  // namespace tenure::kernels
