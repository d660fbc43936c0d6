#include "tenure/graph/place/workspaces.h"

#include <algorithm>
#include <vector>

namespace tenure::graph {
namespace {

/// Per step: where that ends which lies in the arena while it runs.
std::vector<std::int64_t> tops_of(const Lowered& lowered, const Placement& placement) {
  const int arena = Bases(lowered).arena;
  const std::vector<GroupSpan> spans = group_spans(lowered);
  std::vector<int> written(lowered.buffers.size(), -1);
  std::vector<int> last(lowered.buffers.size(), -1);
  for (std::size_t t = 0; t < placement.order.size(); ++t) {
    const Unit& unit = lowered.units[at(placement.order[t])];
    const auto steps = [&](const Layout& layout) {
      const bool is_short = unit.parts == 1 || lowered.buffers[at(layout.buffer)].is_of_part;
      return is_short ? GroupSpan{static_cast<int>(t), static_cast<int>(t)}
                      : spans[at(placement.order[t])];
    };
    for (const Layout& in : unit.in) last[at(in.buffer)] = steps(in).last;
    for (const Layout& out : unit.out) {
      written[at(out.buffer)] = steps(out).first;
      last[at(out.buffer)] = steps(out).last;
    }
  }
  std::vector<std::int64_t> tops(placement.order.size());
  for (std::size_t b = 0; b < lowered.buffers.size(); ++b) {
    if (placement.buffers[b].base != arena || written[b] < 0) continue;
    const std::int64_t top =
        aligned(lowered, placement.buffers[b].offset + lowered.buffers[b].bytes);
    for (int t = written[b]; t <= last[b]; ++t) tops[at(t)] = std::max(tops[at(t)], top);
  }
  return tops;
}

}  // namespace

std::vector<Workspace> narrow_workspaces(Lowered& lowered) {
  const ops::Backend& device = ops::backend(lowered.request.device);
  std::vector<Workspace> before;
  for (Unit& unit : lowered.units) {
    before.push_back({unit.workspace, unit.threads});
    if (unit.threads == kAnyThreads) continue;
    unit.workspace = workspace_on(unit, device, 1);
    unit.threads = 1;
  }
  return before;
}

void restore_workspaces(Lowered& lowered, const std::vector<Workspace>& workspaces) {
  for (std::size_t u = 0; u < lowered.units.size(); ++u) {
    lowered.units[u].workspace = workspaces[u].bytes;
    lowered.units[u].threads = workspaces[u].threads;
  }
}

void widen_workspaces(Lowered& lowered, Placement& placement, int threads, std::int64_t arena) {
  const ops::Backend& device = ops::backend(lowered.request.device);
  const std::vector<std::int64_t> tops = tops_of(lowered, placement);
  for (std::size_t t = 0; t < placement.order.size(); ++t) {
    const int u = placement.order[t];
    Unit& unit = lowered.units[at(u)];
    Place& place = placement.workspaces[at(u)];
    for (int more = threads; more > unit.threads; more /= 2) {
      const std::size_t bytes = workspace_on(unit, device, more);
      const bool fits_there = bytes <= unit.workspace;
      const std::int64_t end = tops[t] + aligned(lowered, static_cast<std::int64_t>(bytes));
      if (!fits_there && end > arena) continue;
      if (!fits_there) {
        place = {.base = Bases(lowered).arena, .offset = tops[t]};
        placement.arena = std::max(placement.arena, end);
        placement.live[t] += static_cast<std::int64_t>(bytes - unit.workspace);
        unit.workspace = bytes;
      }
      unit.threads = more;
      break;
    }
  }
}

}  // namespace tenure::graph
