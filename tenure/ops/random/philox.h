#pragma once

#include <array>
#include <cstdint>

#include "tenure/ops/core/attributes.h"
#include "tenure/ops/random/philox_words.h"
#include "tenure/tensor/dtype.h"

// Which random words an op takes: a device computes them as it likes, but these.

namespace tenure::ops {

/// Where a fill takes its random numbers from: element i depends on nothing but the seed, the
/// offset and i, so that any number of threads makes the same numbers. A fill uses the counters
/// from `offset` on, as many as its companion function says; the next fill starts behind them.
struct PhiloxStream {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

/// Of a call of a random op: the last two of its attributes.
inline PhiloxStream stream_of(const Attributes& a) {
  return {static_cast<std::uint64_t>(a.integer(a.size() - 2)),
          static_cast<std::uint64_t>(a.integer(a.size() - 1))};
}

/// Counters of a fill of n elements that takes one 32-bit word for each.
constexpr std::uint64_t narrow_counters(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) + 3) / 4;
}
/// Counters of a fill of n elements that takes one 64-bit word for each.
constexpr std::uint64_t wide_counters(std::int64_t n) {
  return (static_cast<std::uint64_t>(n) + 1) / 2;
}
/// Counters of a fill of n floating-point numbers: 64-bit words for float64, 32-bit words else.
constexpr std::uint64_t floating_counters(DType dtype, std::int64_t n) {
  return dtype == DType::float64 ? wide_counters(n) : narrow_counters(n);
}

}  // namespace tenure::ops

namespace tenure::ops::philox {

constexpr std::array<std::uint32_t, 4> block(const std::array<std::uint32_t, 4>& x,
                                             const std::array<std::uint32_t, 2>& key) {
  const Words made = words({{x[0], x[1], x[2], x[3]}}, key[0], key[1]);
  return {made.of[0], made.of[1], made.of[2], made.of[3]};
}

}  // namespace tenure::ops::philox
