#pragma once

#include <bit>
#include <cstddef>

#include "tenure/base/units.h"

namespace tenure::mem {

/// All blocks are aligned to a cache line, which is also the widest SIMD register.
inline constexpr std::size_t kAlignment = 64;

// Note: size classes
//
// Multiples of 64 up to 1 KiB, then eight steps per doubling up to 32 KiB: a block wastes at most
// one eighth of its size.
inline constexpr std::size_t kLinearLimit = 1 * KiB;
inline constexpr std::size_t kSmallLimit = 32 * KiB;
inline constexpr int kLinearClasses = static_cast<int>(kLinearLimit / kAlignment);
inline constexpr int kSizeClasses = kLinearClasses + 8 * 5;

/// The smallest class that holds `bytes`, which is in (0, kSmallLimit].
constexpr int size_class(std::size_t bytes) {
  if (bytes <= kLinearLimit) return static_cast<int>((bytes - 1) / kAlignment);
  const int doubling = std::bit_width(bytes - 1) - 11;  // 0 for (1 KiB, 2 KiB]
  const std::size_t step = kLinearLimit >> 3 << doubling;
  const std::size_t base = kLinearLimit << doubling;
  return kLinearClasses + doubling * 8 + static_cast<int>((bytes - base - 1) / step);
}

constexpr std::size_t class_bytes(int index) {
  if (index < kLinearClasses) return (static_cast<std::size_t>(index) + 1) * kAlignment;
  const int doubling = (index - kLinearClasses) / 8;
  const auto step = static_cast<std::size_t>((index - kLinearClasses) % 8 + 1);
  return (kLinearLimit << doubling) + step * (kLinearLimit >> 3 << doubling);
}

}  // namespace tenure::mem
