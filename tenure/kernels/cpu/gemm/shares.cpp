#include "tenure/kernels/cpu/gemm/shares.h"

#include <algorithm>

#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr double kThreadWork = 1e5;     // products that are worth waking a thread
constexpr std::int64_t kFewestOwn = 8;  // panels that a thread packs for itself
constexpr std::int64_t kManyOwn = 4;    // blocks of a thread that are even enough
constexpr double kPackTime = 0.5;       // of a passing panel, in tiles

double work_of(const PartSizes& part) {
  return static_cast<double>(part.products * part.staying_lines) *
         static_cast<double>(part.passing_lines) * static_cast<double>(part.depth);
}

std::int64_t blocks_of_cache(const PartSizes& part) {
  return (part.staying_lines + kBlockLines - 1) / kBlockLines;
}

}  // namespace

std::int64_t own_blocks(const PartSizes& part) {
  const std::int64_t threads = num_threads();
  if (work_of(part) < 2 * kThreadWork) return 0;
  const std::int64_t most = std::max<std::int64_t>(1, part.staying_panels / kFewestOwn);
  for (std::int64_t blocks = blocks_of_cache(part); blocks <= most; ++blocks) {
    const std::int64_t tasks = part.products * blocks;
    if (tasks % threads == 0 || tasks >= kManyOwn * threads) return blocks;
  }
  return 0;
}

std::int64_t shared_blocks(const PartSizes& part) {
  const std::int64_t threads = num_threads();
  const std::int64_t panels = part.staying_panels;
  const std::int64_t least = std::min(panels, blocks_of_cache(part));
  std::int64_t best = least;
  double best_time = 0;
  for (std::int64_t blocks = least; blocks <= std::min(panels, least + 2 * threads); ++blocks) {
    const std::int64_t tasks = part.products * blocks * part.passing_panels;
    const auto turns = static_cast<double>((tasks + threads - 1) / threads);
    const auto high = static_cast<double>((panels + blocks - 1) / blocks);
    const double time = turns * (high + kPackTime);
    if (blocks > least && time >= best_time) continue;
    best = blocks;
    best_time = time;
  }
  return best;
}

std::int64_t tasks_worth_a_thread(const PartSizes& part, std::int64_t tasks) {
  return static_cast<std::int64_t>(
      std::max(1.0, kThreadWork * static_cast<double>(tasks) / work_of(part)));
}

}  // namespace tenure::kernels
