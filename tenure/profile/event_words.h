#pragma once

#include <cstdint>

#include "tenure/memory/kinds.h"
#include "tenure/profile/format.h"
#include "tenure/profile/recorded.h"

// What the words of an event say, whatever they are: a file may be damaged.

namespace tenure::profile {

inline Category category_of(std::uint8_t tag) {
  return tag < kCategories ? static_cast<Category>(tag) : Category::activation;
}

inline HolderKind kind_of(std::uint8_t tag) {
  return tag <= static_cast<std::uint8_t>(HolderKind::cache) ? static_cast<HolderKind>(tag)
                                                             : HolderKind::user;
}

/// Damaged numbers must not overflow sums.
inline std::int64_t bytes_of(std::uint64_t word) {
  return static_cast<std::int64_t>(word & kLow48);
}

/// It tells what was there already.
inline bool is_from_before(const Event& event) { return (event.extra & kBefore) != 0; }

inline std::uint32_t low(std::uint64_t word) { return static_cast<std::uint32_t>(word); }

}  // namespace tenure::profile
