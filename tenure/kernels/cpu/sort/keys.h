#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "tenure/tensor/dtype.h"

namespace tenure::kernels::sorting {

template <std::size_t Size>
using Unsigned = std::conditional_t<
    Size == 1, std::uint8_t,
    std::conditional_t<Size == 2, std::uint16_t,
                       std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

/// Elements as unsigned integers in the order of sort: -0 and 0 are equal, every NaN is equal to
/// every other and greater than all numbers. Integer keys sort by their digits, without branches.
template <class T>
struct Keys {
  using U = Unsigned<sizeof(T)>;
  static constexpr bool kFloating = !std::is_integral_v<T>;
  static constexpr U kSign = static_cast<U>(U{1} << (8 * sizeof(T) - 1));
  static constexpr U kInfinity = static_cast<U>(std::is_same_v<T, Half>       ? 0x7c00
                                                : std::is_same_v<T, BFloat16> ? 0x7f80
                                                : sizeof(T) == 4              ? 0x7f800000
                                                                              : 0x7ff0000000000000);
  static constexpr U kZero = kSign;                 ///< key of 0 and -0
  static constexpr U kNan = static_cast<U>(~U{0});  ///< key of NaN

  static U bits(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return value ? 1 : 0;
    } else {
      return std::bit_cast<U>(value);
    }
  }
  static T element(U bits) {
    if constexpr (std::is_same_v<T, bool>) {
      return bits != 0;
    } else {
      return std::bit_cast<T>(bits);
    }
  }

  /// Whether decode(encode(bits)) may differ from bits: -0 and NaN.
  static bool loses(U bits) {
    return kFloating && (bits == kSign || (bits & static_cast<U>(~kSign)) > kInfinity);
  }

  static U encode(U bits) {
    if constexpr (kFloating) {
      const U magnitude = static_cast<U>(bits & static_cast<U>(~kSign));
      if (magnitude > kInfinity) return kNan;
      return static_cast<U>((bits & kSign) != 0 ? kSign - magnitude : kSign + magnitude);
    } else if constexpr (std::is_signed_v<T>) {
      return static_cast<U>(bits ^ kSign);
    } else {
      return bits;
    }
  }
  static U decode(U key) {
    if constexpr (kFloating) {
      return static_cast<U>(key >= kSign ? key ^ kSign : kSign | (kSign - key));
    } else {
      return encode(key);
    }
  }
};

}  // namespace tenure::kernels::sorting
