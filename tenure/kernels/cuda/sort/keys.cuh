#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/sort/sort_arguments.h"

namespace tenure::kernels::cuda {

template <class U>
inline U key_of(const KeyRule& rule, U bits) {
  constexpr U kSign = static_cast<U>(U(1) << (8 * sizeof(U) - 1));
  U key;
  if (rule.is_floating != 0) {
    const U size = static_cast<U>(bits & static_cast<U>(~kSign));
    if (size > static_cast<U>(rule.infinity)) {
      key = static_cast<U>(~U(0));
    } else {
      key = static_cast<U>((bits & kSign) != 0 ? kSign - size : kSign + size);
    }
  } else {
    key = static_cast<U>(bits ^ static_cast<U>(rule.flipped));
  }
  return static_cast<U>(key ^ static_cast<U>(rule.order));
}

/// The element that stands for all of a key, of ascending order.
template <class U>
inline U element_of(const KeyRule& rule, U key) {
  constexpr U kSign = static_cast<U>(U(1) << (8 * sizeof(U) - 1));
  if (rule.is_floating == 0) return static_cast<U>(key ^ static_cast<U>(rule.flipped));
  return static_cast<U>(key >= kSign ? key ^ kSign : kSign | (kSign - key));
}

}  // namespace tenure::kernels::cuda
