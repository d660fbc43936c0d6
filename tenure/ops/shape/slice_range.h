#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "tenure/base/error.h"

namespace tenure::ops {

/// A position that was left out.
inline constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();

/// As a position the lowest number there is clamps like the next one, so it is free to mean absent.
inline std::int64_t slice_position(std::optional<std::int64_t> given) {
  return given ? std::max(*given, kAbsent + 1) : kAbsent;
}

/// The first position and the number of elements of start:stop:step on a dimension of size n.
struct SliceRange {
  std::int64_t start;
  std::int64_t count;
};
inline SliceRange slice_range(std::int64_t start, std::int64_t stop, std::int64_t step,
                              std::int64_t n, const char* op) {
  if (step == 0) throw ValueError(std::string(op) + ": the step of a slice is 0");
  const std::int64_t low = step > 0 ? 0 : -1;
  const std::int64_t high = step > 0 ? n : n - 1;
  const auto clamp = [&](std::int64_t position, std::int64_t absent) {
    if (position == kAbsent) return absent;
    return std::clamp(position < 0 ? position + n : position, low, high);
  };
  const std::int64_t first = clamp(start, step > 0 ? low : high);
  const std::int64_t last = clamp(stop, step > 0 ? high : low);
  // Divided in a way that a huge step does not overflow.
  const std::int64_t span = step > 0 ? last - first : first - last;
  const std::uint64_t stride =
      step > 0 ? static_cast<std::uint64_t>(step) : -static_cast<std::uint64_t>(step);
  const std::int64_t count =
      span <= 0 ? 0
                : static_cast<std::int64_t>((static_cast<std::uint64_t>(span) - 1) / stride) + 1;
  return {first, count};
}

}  // namespace tenure::ops
