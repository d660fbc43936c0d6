#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tenure/kernels/view.h"
#include "tenure/tensor/dtype.h"

namespace tenure::kernels::sort {

/// The bits of elements as unsigned integers in the order of sort: -0 and 0 are equal, every NaN is
/// equal to every other and greater than all numbers. Integer keys sort by their digits, without
/// branches. Types of one size share an instance, one for floats and one for the others.
template <class Unsigned, bool kFloating>
class Keys {
 public:
  using U = Unsigned;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(U) - 1));
  static constexpr U kZero = kSign;                 ///< key of 0 and -0, of floats
  static constexpr U kNan = static_cast<U>(~U{0});  ///< key of NaN

  explicit Keys(DType dtype)
      : infinity_(static_cast<U>(element_type(dtype).format.infinity())),
        flipped_(is_unsigned(dtype) ? U{0} : kSign) {}

  /// Whether decode(encode(bits)) may differ from bits: -0 and NaN.
  bool loses(U bits) const { return kFloating && (bits == kSign || magnitude(bits) > infinity_); }

  U encode(U bits) const {
    if constexpr (kFloating) {
      const U size = magnitude(bits);
      if (size > infinity_) return kNan;
      return static_cast<U>((bits & kSign) != 0 ? kSign - size : kSign + size);
    } else {
      return static_cast<U>(bits ^ flipped_);
    }
  }
  U decode(U key) const {
    if constexpr (kFloating) {
      return static_cast<U>(key >= kSign ? key ^ kSign : kSign | (kSign - key));
    } else {
      return encode(key);
    }
  }

 private:
  static U magnitude(U bits) { return static_cast<U>(bits & static_cast<U>(~kSign)); }

  U infinity_;
  U flipped_;  ///< what makes keys of integers
};

/// Calls `f(Keys(dtype))`.
template <class F>
decltype(auto) visit_keys(DType dtype, const F& f) {
  const bool floating = is_floating(dtype);
  switch (size_of(dtype)) {
    case 1:
      return f(Keys<std::uint8_t, false>(dtype));
    case 2:
      return floating ? f(Keys<std::uint16_t, true>(dtype)) : f(Keys<std::uint16_t, false>(dtype));
    case 4:
      return floating ? f(Keys<std::uint32_t, true>(dtype)) : f(Keys<std::uint32_t, false>(dtype));
    default:
      return floating ? f(Keys<std::uint64_t, true>(dtype)) : f(Keys<std::uint64_t, false>(dtype));
  }
}

/// Elements of any type along an axis, `step` elements apart, as bits.
template <class U>
struct Row {
  std::byte* data;
  std::int64_t step;

  U operator[](std::int64_t i) const {
    U bits;
    std::memcpy(&bits, data + i * step * std::int64_t{sizeof(U)}, sizeof(U));
    return bits;
  }
  void set(std::int64_t i, U bits) const {
    std::memcpy(data + i * step * std::int64_t{sizeof(U)}, &bits, sizeof(U));
  }
};

/// The elements along `axis` from `offset` on, which is counted in elements.
template <class U>
Row<U> row_at(const View& view, std::int64_t offset, int axis) {
  return {view.as<std::byte>() + offset * std::int64_t{sizeof(U)}, view.strides[axis]};
}

}  // namespace tenure::kernels::sort
