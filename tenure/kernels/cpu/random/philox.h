#pragma once

#include <array>
#include <cstdint>

namespace tenure::kernels {

/// Where a fill takes its random numbers from: element i depends on nothing but the seed, the
/// offset and i, so that any number of threads makes the same numbers. A fill uses the counters
/// from `offset` on, as many as its companion function says; the next fill starts behind them.
struct PhiloxStream {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};

}  // namespace tenure::kernels

namespace tenure::kernels::philox {

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

/// Writes the four words of each of the counters [first, first + counters): the key is the seed,
/// the counter stands in the lower half of Philox' 128 bits.
void words(std::uint64_t seed, std::uint64_t first, std::int64_t counters, std::uint32_t* out);

/// Writes n normal numbers, four to a counter for float and two for double: the same bits on every
/// SIMD target.
void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, float mean, float deviation,
             float* out);
void normals(std::uint64_t seed, std::uint64_t first, std::int64_t n, double mean, double deviation,
             double* out);

}  // namespace tenure::kernels::philox
