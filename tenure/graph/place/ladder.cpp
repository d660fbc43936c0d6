#include "tenure/graph/place/ladder.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/passes/split.h"
#include "tenure/graph/place/in_parts.h"
#include "tenure/graph/place/ladder_cache.h"
#include "tenure/graph/place/renew.h"
#include "tenure/planner/remat.h"

namespace tenure::graph {
namespace {

/// Changes that the first search looks at for each of a program's first hundred units: about a
/// second's work for a program that has them.
constexpr std::int64_t kSteps = 10'000;

/// The rungs that no other makes superfluous.
std::vector<Rung> best_of(std::vector<Rung> rungs) {
  std::stable_sort(rungs.begin(), rungs.end(), [](const Rung& a, const Rung& b) {
    return std::pair(a.peak, a.added) < std::pair(b.peak, b.added);
  });
  std::vector<Rung> best;
  for (Rung& rung : rungs) {
    if (best.empty() || rung.added < best.back().added) best.push_back(std::move(rung));
  }
  return best;
}

class Search {
 public:
  explicit Search(const Lowered& lowered) : lowered_(lowered), dag_(dag_of(lowered)) {}

  /// Finds rungs. Each level looks twice as long as the one before.
  void run(const Rung& plain, int level) {
    const planner::RematOptions options{
        .steps = kSteps << level, .seed = static_cast<std::uint64_t>(level), .given = plain.word};
    for (const planner::Rung& rung : planner::ladder(dag_, options)) add(rung.plan);
  }

  std::vector<Rung> take() && { return std::move(rungs_); }

 private:
  void add(const planner::RematPlan& plan) {
    std::vector<int> late = with_late_updates(lowered_, plan.steps);
    if (late != plan.steps) add(plan.steps, plan.added_cost);
    add(std::move(late), plan.added_cost);
  }
  void add(std::vector<int> word, std::int64_t added) {
    const auto known = std::find_if(rungs_.begin(), rungs_.end(),
                                    [&](const Rung& rung) { return rung.word == word; });
    if (known != rungs_.end()) return;
    const std::unique_ptr<Lowered> made = repeat_units(lowered_, word);
    Placement placement = place_in_order(*made);
    const std::int64_t peak = peak_of(*made, placement);
    rungs_.push_back(
        {.word = std::move(word), .placement = std::move(placement), .peak = peak, .added = added});
  }

  const Lowered& lowered_;
  planner::Dag dag_;
  std::vector<Rung> rungs_;
};

}  // namespace

Rung plain_rung(const Lowered& lowered, Placement placed) {
  Rung rung{.placement = std::move(placed)};
  rung.peak = peak_of(lowered, rung.placement);
  rung.word = rung.placement.order;
  // As the units of the program that the word makes are numbered.
  std::iota(rung.placement.order.begin(), rung.placement.order.end(), 0);
  std::vector<Place> workspaces;
  for (const int u : rung.word) {
    workspaces.push_back(rung.placement.workspaces[static_cast<std::size_t>(u)]);
  }
  rung.placement.workspaces = std::move(workspaces);
  return rung;
}

std::unique_ptr<Lowered> program_of(const Lowered& lowered, const Rung& rung) {
  std::unique_ptr<Lowered> made = repeat_units(lowered, rung.word);
  if (rung.groups.empty()) return made;
  std::unique_ptr<Lowered> split = split_units(*made, rung.groups);
  split->whole = std::make_shared<const planner::Dag>(dag_of(*made));
  return split;
}

std::shared_ptr<Ladder> quick_ladder(const Lowered& lowered, Placement plain) {
  auto ladder = std::make_shared<Ladder>();
  const std::vector<std::int64_t> costs = costs_of(lowered);
  ladder->cost = std::accumulate(costs.begin(), costs.end(), std::int64_t{0});
  Rung last = plain_rung(lowered, std::move(plain));
  if (std::optional<Rung> rung = renewed_rung(lowered, last)) {
    ladder->rungs.push_back(std::move(*rung));
  }
  ladder->rungs.push_back(std::move(last));
  return ladder;
}

std::shared_ptr<const Ladder> ladder_of(const Lowered& lowered, int effort) {
  int levels = 1;
  while (levels < 30 && (2 << (levels - 1)) <= effort) ++levels;
  return cached_ladder(lowered, levels, [&](std::shared_ptr<const Ladder> known, int level) {
    Search search(lowered);
    std::shared_ptr<Ladder> ladder =
        known == nullptr ? quick_ladder(lowered, place(lowered)) : std::make_shared<Ladder>(*known);
    search.run(ladder->rungs.back(), level);
    for (Rung& rung : std::move(search).take()) ladder->rungs.push_back(std::move(rung));
    ladder->rungs = best_of(std::move(ladder->rungs));
    for (Rung& rung : rungs_in_parts(lowered, *ladder)) ladder->rungs.push_back(std::move(rung));
    ladder->rungs = best_of(std::move(ladder->rungs));
    return ladder;
  });
}

}  // namespace tenure::graph
