#pragma once

#include <cstdint>

// The random words of a counter, for every device: kernels of GPUs include this too.

namespace tenure::ops::philox {

inline constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
inline constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;
inline constexpr std::uint32_t kWeyl0 = 0x9E3779B9;
inline constexpr std::uint32_t kWeyl1 = 0xBB67AE85;
inline constexpr int kRounds = 10;

struct Words {
  std::uint32_t of[4];
};

/// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011): four random
/// words for each counter and key.
constexpr Words words(Words x, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < kRounds; ++round) {
    const std::uint64_t p0 = std::uint64_t{kMultiplier0} * x.of[0];
    const std::uint64_t p1 = std::uint64_t{kMultiplier1} * x.of[2];
    x = {{static_cast<std::uint32_t>(p1 >> 32) ^ x.of[1] ^ key0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ x.of[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += kWeyl0;
    key1 += kWeyl1;
  }
  return x;
}

}  // namespace tenure::ops::philox
