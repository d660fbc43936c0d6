#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/ops/random/philox_words.h"

namespace tenure::kernels::cuda {

/// Four random words of a counter.
struct RandomWords {
  std::uint32_t of[4];

  std::uint64_t wide(int i) const {
    return of[2 * i] | static_cast<std::uint64_t>(of[2 * i + 1]) << 32;
  }
};

/// Of a counter that is followed by zeros.
inline RandomWords philox(std::uint64_t seed, std::uint64_t counter) {
  const ops::philox::Words made = ops::philox::words(
      {{static_cast<std::uint32_t>(counter), static_cast<std::uint32_t>(counter >> 32), 0, 0}},
      static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32));
  return {{made.of[0], made.of[1], made.of[2], made.of[3]}};
}

}  // namespace tenure::kernels::cuda
