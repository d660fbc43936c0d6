#include "tenure/graph/arrange.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/planner/remat.h"

namespace tenure::graph {
namespace {

/// How often the budget of the search is lowered by what gaps between buffers took.
constexpr int kAttempts = 6;
/// Effort of one search for a budget that must be held, and of one of several for a low peak.
constexpr std::int64_t kSearch = 4'000'000;
constexpr std::int64_t kShortSearch = 500'000;

std::int64_t input_bytes(const Lowered& lowered) {
  std::int64_t bytes = 0;
  for (const ops::Spec& spec : lowered.inputs) {
    bytes += count(spec.shape) * static_cast<std::int64_t>(size_of(spec.dtype));
  }
  return bytes;
}

/// A program that computes units again to stay near `aim`.
Arranged repeated(const Lowered& lowered, std::int64_t aim, std::int64_t search) {
  Rematerialized made = rematerialize(lowered, aim, search);
  Placement placement = place_in_order(*made.lowered);
  return {.lowered = std::move(made.lowered),
          .placement = std::move(placement),
          .recomputed = made.added_cost / made.base_cost};
}

}  // namespace

Arranged arrange_within(std::unique_ptr<Lowered> lowered, std::int64_t budget,
                        std::int64_t constants) {
  const std::int64_t before = input_bytes(*lowered) + constants;
  const std::int64_t allowed = budget - before;
  Placement plain = place(*lowered);
  if (peak_of(*lowered, plain) <= allowed) {
    return {.lowered = std::move(lowered), .placement = std::move(plain)};
  }
  std::int64_t aim = allowed;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    try {
      Arranged made = repeated(*lowered, aim, kSearch);
      const std::int64_t peak = peak_of(*made.lowered, made.placement);
      if (peak <= allowed) return made;
      least = std::min(least, peak);
      aim -= peak - allowed;
    } catch (const planner::BudgetError& error) {
      throw planner::BudgetError(budget, std::min(least, error.least() + allowed - aim) + before,
                                 error.bound() + before);
    }
  }
  throw planner::BudgetError(budget, least + before, before);
}

Arranged arrange_cheaply(std::unique_ptr<Lowered> lowered, double share) {
  Placement plain = place(*lowered);
  std::int64_t below = peak_of(*lowered, plain);  // a peak that can be had
  std::int64_t above = 0;                         // one that costs too much
  std::optional<Arranged> best;
  for (int attempt = 0; attempt < kAttempts && below - above > below / 32; ++attempt) {
    const std::int64_t aim = above + (below - above) / 2;
    try {
      Arranged made = repeated(*lowered, aim, kShortSearch);
      const std::int64_t peak = peak_of(*made.lowered, made.placement);
      if (made.recomputed > share || peak >= below) {
        above = aim;
      } else {
        below = peak;
        best = std::move(made);
      }
    } catch (const planner::BudgetError& error) {
      above = std::max(aim, std::min(error.bound(), below));
    }
  }
  if (best) return std::move(*best);
  return {.lowered = std::move(lowered), .placement = std::move(plain)};
}

}  // namespace tenure::graph
