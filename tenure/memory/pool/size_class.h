#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

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

/// The smallest class that holds i * kAlignment bytes, at place i.
inline constexpr auto kClassOf = [] {
  std::array<std::uint8_t, kSmallLimit / kAlignment + 1> classes{};
  for (std::size_t i = 1; i < classes.size(); ++i) {
    const std::size_t bytes = i * kAlignment;
    if (bytes <= kLinearLimit) {
      classes[i] = static_cast<std::uint8_t>(i - 1);
      continue;
    }
    const int doubling = std::bit_width(bytes - 1) - 11;  // 0 for (1 KiB, 2 KiB]
    const std::size_t step = kLinearLimit >> 3 << doubling;
    const std::size_t base = kLinearLimit << doubling;
    classes[i] = static_cast<std::uint8_t>(kLinearClasses + doubling * 8 +
                                           static_cast<int>((bytes - base - 1) / step));
  }
  return classes;
}();

/// The smallest class that holds `bytes`, which is in (0, kSmallLimit].
constexpr int size_class(std::size_t bytes) {
  return kClassOf[(bytes + kAlignment - 1) / kAlignment];
}

constexpr std::size_t class_bytes(int index) {
  if (index < kLinearClasses) return (static_cast<std::size_t>(index) + 1) * kAlignment;
  const int doubling = (index - kLinearClasses) / 8;
  const auto step = static_cast<std::size_t>((index - kLinearClasses) % 8 + 1);
  return (kLinearLimit << doubling) + step * (kLinearLimit >> 3 << doubling);
}

}  // namespace tenure::mem
