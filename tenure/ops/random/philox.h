#pragma once

#include <array>
#include <cstdint>

#include "tenure/ops/core/attributes.h"
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

inline constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
inline constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
inline constexpr int kRounds = 10;

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random
/// words for each counter and key.
constexpr std::array<std::uint32_t, 4> block(std::array<std::uint32_t, 4> x,
                                             std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * x[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return x;
}

}  // namespace tenure::ops::philox
