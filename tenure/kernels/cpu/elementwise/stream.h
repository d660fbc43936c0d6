#pragma once

#include <cstddef>
#include <cstdint>

#include "tenure/base/units.h"

namespace tenure::kernels {

/// Outputs of at least this size leave the caches before anyone reads them: they are written past
/// the caches, which saves reading the lines first.
inline constexpr std::size_t kStreamFrom = 8 * MiB;

/// Bytes that memory moves at a time.
inline constexpr std::size_t kLine = 64;
/// Whether a line begins here, as Body::streamed wants it.
inline bool begins_line(const void* at) {
  return reinterpret_cast<std::uintptr_t>(at) % kLine == 0;
}

/// Copies from a tile to memory without loading the target's lines. `to` is aligned to 16 bytes if
/// n is; other ends are copied plainly.
void stream_copy(const void* from, void* to, std::size_t n);
/// Makes streamed data visible to other threads.
void stream_fence();

}  // namespace tenure::kernels
