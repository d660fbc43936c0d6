#pragma once

#include <cstdint>

namespace tenure::kernels {

// Into how many blocks the panels that stay are cut, for threads and caches.

/// What of a batch of products is packed at a time, and what passes by it.
struct PartSizes {
  std::int64_t products = 0;
  std::int64_t staying_lines = 0, staying_panels = 0;  ///< of each product
  std::int64_t passing_lines = 0, passing_panels = 0;
  std::int64_t depth = 0;
};

/// Lines of kGemmDepth terms that stay in the second level of the cache.
inline constexpr std::int64_t kBlockLines = 256;

/// Blocks such that every thread packs the ones that it uses, and nothing that one core wrote is
/// read by another, which takes several times as long as packing; 0 if what passes by would be
/// packed too often for that.
std::int64_t own_blocks(const PartSizes& part);
/// Blocks of what all threads have packed, such that they get equal shares.
std::int64_t shared_blocks(const PartSizes& part);
/// Of so many equal tasks.
std::int64_t tasks_worth_a_thread(const PartSizes& part, std::int64_t tasks);

}  // namespace tenure::kernels
