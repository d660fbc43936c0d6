#pragma once

#include <cstddef>

namespace tenure::kernels::cuda {

/// Bytes that a thread moves at once.
inline constexpr std::size_t kVectorBytes = 16;

/// How many steps a thread asks memory for before it goes on with the first, by the bytes that it
/// reads in each: some 32 bytes on their way to each thread keep memory busy.
constexpr int steps_at_once(std::size_t bytes) {
  return bytes <= kVectorBytes / 2 ? 4 : bytes <= 2 * kVectorBytes ? 2 : 1;
}

}  // namespace tenure::kernels::cuda
