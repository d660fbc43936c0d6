#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tenure/planner/remat.h"
#include "tenure/planner/remat/ladder.h"

namespace tenure::planner {

BudgetError::BudgetError(std::int64_t budget, std::int64_t least, std::int64_t bound, bool is_final)
    : ValueError(fmt::format(
          "{} {} bytes: the least budget known to suffice is {}, and none below {} can{}",
          is_final ? "the program does not fit into"
                   : "the time was over before it was known whether the program fits into",
          budget, least, bound, is_final ? "" : "; give it more time, or no deadline")),
      budget_(budget),
      least_(least),
      bound_(bound),
      is_final_(is_final) {}

void remat::check(const Dag& dag, const RematOptions& options) {
  planner::check(dag);
  if (std::isnan(options.deadline)) throw ValueError("planner: the deadline is not a number");
  if (options.steps < 0) {
    throw ValueError(fmt::format("planner: {} steps; give 0 for quick plans alone", options.steps));
  }
}

namespace {

/// As far as a plain order does not do.
void search(remat::Ladder& ladder, std::int64_t budget, const RematOptions& options,
            remat::Effort& effort) {
  if (ladder.fits_plainly(budget)) return;
  if (ladder.least().peak > budget) throw BudgetError(budget, ladder.least().peak, ladder.bound());
  if (std::isinf(options.deadline))
    ladder.climb(budget);
  else
    ladder.focus(budget, effort);
}

}  // namespace

LeastBudget least_budget(const Dag& dag, const RematOptions& options) {
  remat::check(dag, options);
  remat::Ladder ladder(dag, options);
  LeastBudget least;
  least.plan = ladder.least();
  least.bound = ladder.bound();
  return least;
}

std::vector<RematPlan> rematerialize(const Dag& dag, const std::vector<std::int64_t>& budgets,
                                     const RematOptions& options) {
  remat::check(dag, options);
  remat::Effort effort(options.deadline, options.steps);
  remat::Ladder ladder(dag, options);
  // The smallest is the first to be refused.
  std::vector<std::int64_t> ascending = budgets;
  std::sort(ascending.begin(), ascending.end());
  for (std::int64_t budget : ascending) search(ladder, budget, options, effort);
  std::vector<RematPlan> plans;
  for (std::int64_t budget : budgets) plans.push_back(ladder.answer(budget));
  return plans;
}

RematPlan rematerialize(const Dag& dag, std::int64_t budget, const RematOptions& options) {
  return rematerialize(dag, std::vector<std::int64_t>{budget}, options).front();
}

std::vector<Rung> ladder(const Dag& dag, const RematOptions& options) {
  remat::check(dag, options);
  remat::Ladder ladder(dag, options);
  ladder.climb_all();
  std::vector<Rung> rungs = ladder.rungs();
  for (Rung& rung : rungs) rung.plan = ladder.answer(rung.budget);
  return rungs;
}

std::vector<std::vector<int>> freed_after(const Dag& dag, const std::vector<int>& steps) {
  std::vector<std::vector<int>> freed(steps.size());
  std::vector<char> wanted(dag.nodes.size());
  for (std::size_t node = 0; node < dag.nodes.size(); ++node) wanted[node] = dag.nodes[node].output;
  for (std::size_t i = steps.size(); i-- > 0;) {
    const auto node = static_cast<std::size_t>(steps[i]);
    if (!wanted[node]) freed[i].push_back(steps[i]);
    wanted[node] = false;
    for (int input : dag.nodes[node].inputs) {
      if (!wanted[static_cast<std::size_t>(input)]) freed[i].push_back(input);
      wanted[static_cast<std::size_t>(input)] = true;
    }
  }
  return freed;
}

}  // namespace tenure::planner
