#include "tenure/graph/arrange.h"

#include <algorithm>
#include <limits>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/planner/remat.h"

namespace tenure::graph {
namespace {

/// How often the budget of the search is lowered by what gaps between buffers took.
constexpr int kAttempts = 6;

std::int64_t input_bytes(const Lowered& lowered) {
  std::int64_t bytes = 0;
  for (const ops::Spec& spec : lowered.inputs) {
    bytes += count(spec.shape) * static_cast<std::int64_t>(size_of(spec.dtype));
  }
  return bytes;
}

}  // namespace

Arranged arrange_within(std::unique_ptr<Lowered> lowered, std::int64_t budget) {
  const std::int64_t inputs = input_bytes(*lowered);
  const std::int64_t allowed = budget - inputs;
  Placement plain = place(*lowered);
  if (peak_of(*lowered, plain) <= allowed) {
    return {.lowered = std::move(lowered), .placement = std::move(plain)};
  }
  std::int64_t aim = allowed;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    try {
      Rematerialized made = rematerialize(*lowered, aim);
      Placement placement = place_in_order(*made.lowered);
      const std::int64_t peak = peak_of(*made.lowered, placement);
      if (peak <= allowed) {
        return {.lowered = std::move(made.lowered),
                .placement = std::move(placement),
                .recomputed = made.added_cost / made.base_cost};
      }
      least = std::min(least, peak);
      aim -= peak - allowed;
    } catch (const planner::BudgetError& error) {
      throw planner::BudgetError(budget, std::min(least, error.least() + allowed - aim) + inputs,
                                 error.bound() + inputs);
    }
  }
  throw planner::BudgetError(budget, least + inputs, inputs);
}

}  // namespace tenure::graph
