#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>

#include "tenure/base/site.h"

// What arguments and options may be. It is looked at where an object is made: when it is used first
// nobody knows any more where the number came from.

namespace tenure::mem {

/// An argument by its name, and the least that it may be.
struct NamedSize {
  const char* name;
  std::int64_t value;
  std::int64_t least = 1;
};
struct NamedNumber {
  const char* name;
  double value;
};

/// Numbers from one to another; which of the two ends are among them, `text` says, too.
struct Domain {
  double low;
  double high;
  bool has_low;
  bool has_high;
  const char* text;
};
inline constexpr double kEndless = std::numeric_limits<double>::infinity();
inline constexpr Domain kFinite{-kEndless, kEndless, false, false, "finite"};
inline constexpr Domain kAtLeastZero{0, kEndless, true, true, "at least 0"};
inline constexpr Domain kNotNegative{0, kEndless, true, false, "finite and not negative"};
inline constexpr Domain kAboveZero{0, kEndless, false, true, "above 0"};
inline constexpr Domain kBelowOne{0, 1, true, false, "at least 0 and below 1"};
inline constexpr Domain kUpToOne{0, 1, true, true, "at least 0 and at most 1"};
inline constexpr Domain kWithinOne{0, 1, false, false, "above 0 and below 1"};

/// Throws ValueError in the name of `what`, called at `site`, for a size that is too small. An
/// unknown site leaves it to the caller to name the line.
void require_least(std::string_view what, std::initializer_list<NamedSize> sizes,
                   Site site = Site());
/// The same for a number that is not in the domain.
void require_in(const Domain& domain, std::string_view what,
                std::initializer_list<NamedNumber> numbers, Site site = Site());

}  // namespace tenure::mem
