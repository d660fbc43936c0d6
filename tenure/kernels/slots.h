#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace tenure::kernels {

/// Most threads that work in parts of a workspace, each in its own. Not as many as there are: plans
/// are the same on every machine and with every number of threads.
inline constexpr std::int64_t kMaxSlots = 16;

/// How many parts of `bytes` bytes the workspace for `items` pieces of work has. Large parts are
/// fewer: they would be most of what a program takes.
inline std::int64_t slots_for(std::int64_t items, std::size_t bytes) {
  constexpr std::int64_t kEnough = 4;
  constexpr std::int64_t kBytes = 4 << 20;
  const std::int64_t fit = kBytes / std::max<std::int64_t>(static_cast<std::int64_t>(bytes), 1);
  return std::min(items, std::clamp(fit, kEnough, kMaxSlots));
}

}  // namespace tenure::kernels
