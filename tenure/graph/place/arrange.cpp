#include "tenure/graph/place/arrange.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tenure/graph/place/bound.h"
#include "tenure/graph/place/ladder.h"
#include "tenure/graph/place/renew.h"
#include "tenure/graph/place/workspaces.h"
#include "tenure/planner/remat.h"

namespace tenure::graph {
namespace {

std::int64_t input_bytes(const Lowered& lowered) {
  std::int64_t bytes = 0;
  for (const ops::Spec& spec : lowered.inputs) {
    bytes += bytes_of(spec);
  }
  return bytes;
}

double share_of(const Rung& rung, const Ladder& ladder) {
  return static_cast<double>(rung.added) /
         static_cast<double>(std::max<std::int64_t>(ladder.cost, 1));
}

/// The program as a rung has it, with wider workspaces as far as a peak of `most` bytes goes.
Arranged arranged_by(const Lowered& lowered, const Rung& rung, std::int64_t most) {
  Arranged made{.lowered = program_of(lowered, rung), .placement = rung.placement};
  const std::int64_t outputs = rung.peak - rung.placement.arena;
  widen_workspaces(*made.lowered, made.placement, ops::backend(lowered.request.device).threads(),
                   most - outputs);
  return made;
}

Arranged arrange_within(std::unique_ptr<Lowered> lowered, std::int64_t constants) {
  const std::int64_t budget = *lowered->request.options.budget;
  const std::int64_t before = input_bytes(*lowered) + constants;
  // Below nothing all budgets are the same.
  const std::int64_t allowed = std::max<std::int64_t>(budget, -1) - before;
  Placement plain = place(*lowered);
  const std::int64_t wide = peak_of(*lowered, plain);
  if (wide <= allowed) return {.lowered = std::move(lowered), .placement = std::move(plain)};
  narrow_workspaces(*lowered);
  const Rung narrow = plain_rung(*lowered, place(*lowered));
  if (narrow.peak <= allowed) return arranged_by(*lowered, narrow, allowed);
  const auto ladder = ladder_of(*lowered, lowered->request.options.effort);
  const std::vector<Rung>& rungs = ladder->rungs;
  const auto above = std::find_if(rungs.begin(), rungs.end(),
                                  [&](const Rung& rung) { return rung.peak > allowed; });
  if (above == rungs.begin()) {
    throw planner::BudgetError(budget, std::min(above->peak, wide) + before,
                               least_conceivable(*lowered) + before);
  }
  const Rung& rung = *(above - 1);
  Arranged made = arranged_by(*lowered, rung, allowed);
  made.recomputed = share_of(rung, *ladder);
  return made;
}

Arranged arrange_cheaply(std::unique_ptr<Lowered> lowered) {
  constexpr std::int64_t kAny = std::numeric_limits<std::int64_t>::max() / 2;
  const double share = lowered->request.options.recompute;
  Placement plain = place(*lowered);
  std::int64_t least = peak_of(*lowered, plain);
  const std::vector<Workspace> wide = narrow_workspaces(*lowered);
  const bool is_narrow = std::all_of(wide.begin(), wide.end(), [](const Workspace& workspace) {
    return workspace.threads == kAnyThreads;
  });
  const std::shared_ptr<const Ladder> ladder =
      share > kNearlyFree ? ladder_of(*lowered, lowered->request.options.effort)
                          : quick_ladder(*lowered, is_narrow ? plain : place(*lowered));
  std::optional<Arranged> best;
  for (const Rung& rung : ladder->rungs) {
    if (rung.peak >= least || share_of(rung, *ladder) > share) continue;
    Arranged made = arranged_by(*lowered, rung, kAny);
    const std::int64_t peak = peak_of(*made.lowered, made.placement);
    if (peak >= least) continue;
    least = peak;
    made.recomputed = share_of(rung, *ladder);
    best = std::move(made);
  }
  if (best) return std::move(*best);
  restore_workspaces(*lowered, wide);
  return {.lowered = std::move(lowered), .placement = std::move(plain)};
}

}  // namespace

Arranged arrange(std::unique_ptr<Lowered> lowered, std::int64_t constants) {
  const CompileOptions& options = lowered->request.options;
  if (options.budget) return arrange_within(std::move(lowered), constants);
  if (options.recompute > 0) return arrange_cheaply(std::move(lowered));
  Placement placement = place(*lowered);
  return {.lowered = std::move(lowered), .placement = std::move(placement)};
}

}  // namespace tenure::graph
