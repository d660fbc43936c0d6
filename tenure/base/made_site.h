#pragma once

#include <bit>
#include <cstdint>

#include "tenure/base/site.h"

namespace tenure {

/// A place in a source that no C++ compiler sees: a line of Python. It and its texts last as long
/// as any Site made of it, which is for good.
struct Place {
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// A Site is a pointer to such a struct, written by the compiler; here is one that the program
/// wrote.
inline Site site_at(const Place& place) noexcept {
  static_assert(sizeof(Site) == sizeof(const Place*));
  return std::bit_cast<Site>(&place);
}

}  // namespace tenure
