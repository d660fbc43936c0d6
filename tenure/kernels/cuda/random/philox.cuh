#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"

namespace tenure::kernels::cuda {

/// Four random words of a counter.
struct RandomWords {
  std::uint32_t of[4];

  std::uint64_t wide(int i) const {
    return of[2 * i] | static_cast<std::uint64_t>(of[2 * i + 1]) << 32;
  }
};

/// Philox4x32-10, as ops/random/philox.h has it.
inline RandomWords philox(std::uint64_t seed, std::uint64_t counter) {
  RandomWords x{{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0,
                 0}};
  auto key0 = static_cast<std::uint32_t>(seed);
  auto key1 = static_cast<std::uint32_t>(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{0xD2511F53u} * x.of[0];
    const std::uint64_t p1 = std::uint64_t{0xCD9E8D57u} * x.of[2];
    x = {{static_cast<std::uint32_t>(p1 >> 32) ^ x.of[1] ^ key0, static_cast<std::uint32_t>(p1),
          static_cast<std::uint32_t>(p0 >> 32) ^ x.of[3] ^ key1, static_cast<std::uint32_t>(p0)}};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

}  // namespace tenure::kernels::cuda
