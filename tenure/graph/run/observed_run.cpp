#include "tenure/graph/run/observed_run.h"

#include <algorithm>
#include <atomic>

namespace tenure::graph {

std::vector<mem::PlannedRun::Buffer> arena_map(const Lowered& lowered, const Placement& placement) {
  std::vector<mem::PlannedRun::Buffer> map(lowered.buffers.size());
  std::vector<mem::PlannedRun::Buffer> workspaces;
  for (std::size_t step = 0; step < placement.order.size(); ++step) {
    const auto u = static_cast<std::size_t>(placement.order[step]);
    const Unit& unit = lowered.units[u];
    const std::string op = unit.nodes == 0 ? "copy" : unit.node->op->name;
    const int now = static_cast<int>(step);
    for (const Layout& in : unit.in) map[static_cast<std::size_t>(in.buffer)].last = now;
    for (const Layout& out : unit.out) {
      const auto b = static_cast<std::size_t>(out.buffer);
      map[b] = {.op = op,
                .offset = placement.buffers[b].offset,
                .bytes = lowered.buffers[b].bytes,
                .first = now,
                .last = now};
    }
    if (unit.workspace != 0) {
      workspaces.push_back({.op = op + ", workspace",
                            .offset = placement.workspaces[u].offset,
                            .bytes = static_cast<std::int64_t>(unit.workspace),
                            .first = now,
                            .last = now});
    }
  }
  std::vector<mem::PlannedRun::Buffer> result;
  for (std::size_t b = 0; b < map.size(); ++b) {
    // Some lie in the memory of an output.
    const bool is_there = placement.buffers[b].base == Bases(lowered).arena;
    if (lowered.buffers[b].kind == Buffer::Kind::temporary && is_there && map[b].bytes != 0) {
      result.push_back(std::move(map[b]));
    }
  }
  std::move(workspaces.begin(), workspaces.end(), std::back_inserter(result));
  return result;
}

std::uint64_t next_executable() noexcept {
  static std::atomic<std::uint64_t> next{1};
  return next.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace tenure::graph
