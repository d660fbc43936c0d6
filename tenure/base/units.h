#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tenure {

inline constexpr std::size_t KiB = std::size_t{1} << 10;
inline constexpr std::size_t MiB = std::size_t{1} << 20;
inline constexpr std::size_t GiB = std::size_t{1} << 30;

/// "512 B", "1.50 KiB", "64.00 MiB": at most two decimals, exact below 1 KiB.
std::string format_bytes(std::int64_t bytes);

/// `value` rounded up to a multiple of `alignment`, a power of two.
constexpr std::size_t round_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) & ~(alignment - 1);
}

}  // namespace tenure
