#pragma once

#include <cstdint>
#include <limits>

// Also a part of CUDA's sources.

namespace tenure {

/// Between which numbers integers are.
struct IntegerRange {
  std::int64_t lowest;
  std::int64_t highest;
  std::int64_t next_lowest;   ///< but for `lowest`
  std::int64_t next_highest;  ///< but for `highest`

  /// Of no integers: nothing is between these.
  static constexpr IntegerRange none() {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
    return {kMost, kLeast, kMost, kLeast};
  }

  constexpr void add(std::int64_t value) {
    if (value < lowest) {
      next_lowest = lowest;
      lowest = value;
    } else if (value > lowest && value < next_lowest) {
      next_lowest = value;
    }
    if (value > highest) {
      next_highest = highest;
      highest = value;
    } else if (value < highest && value > next_highest) {
      next_highest = value;
    }
  }
  constexpr void join(const IntegerRange& other) {
    // Ends that nothing was added to are no integers.
    if (other.lowest > other.highest) return;
    add(other.lowest);
    add(other.highest);
    if (other.next_lowest < other.highest) add(other.next_lowest);
    if (other.next_highest > other.lowest) add(other.next_highest);
  }
};

}  // namespace tenure
