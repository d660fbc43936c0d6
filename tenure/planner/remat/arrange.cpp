#include "tenure/planner/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "tenure/planner/remat/ladder.h"

namespace tenure::planner {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

/// What a schedule's arena takes. It does not depend on the budget, so that equal schedules fit
/// equally: the search for offsets has no goal but the least height.
Arrangement arranged(const Dag& dag, const RematPlan& schedule, std::uint64_t seed,
                     std::int64_t steps) {
  Arrangement result{schedule, lifetimes_of(dag, schedule.steps), {}, 0};
  result.offsets = solve(result.lifetimes.problem, {.steps = steps, .seed = seed});
  result.size = dag.resident + result.offsets.height;
  return result;
}

class Search {
 public:
  Search(const Dag& dag, const RematOptions& options)
      : dag_(dag), options_(options), ladder_(dag, options) {}

  /// The cheapest of the known plans for budgets up to `budget` whose arena is within it.
  std::optional<Arrangement> find_fit(std::int64_t budget) {
    const std::vector<Rung>& rungs = ladder_.rungs();
    for (std::size_t i = rungs.size(); i-- > 0;) {
      if (rungs[i].budget > budget) continue;
      Arrangement& found = arrangement_of(rungs[i].plan, budget);
      if (found.size <= budget) return found;
    }
    return std::nullopt;
  }

  Arrangement within(std::int64_t budget) {
    if (!ladder_.fits_plainly(budget) && ladder_.least().peak > budget) refuse(budget);
    if (!std::isinf(options_.deadline)) {
      remat::Effort effort(options_.deadline, options_.steps);
      ladder_.focus(budget, effort);
      if (std::optional<Arrangement> found = find_fit(budget)) return *found;
    }
    if (ladder_.is_exact()) ladder_.climb_all();
    std::optional<Arrangement> found = find_fit(budget);
    while (ladder_.search_below(budget, found ? found->schedule.added_cost : kNone))
      found = find_fit(budget);
    if (!found) refuse(budget);
    found->schedule = ladder_.bounded(found->schedule, budget);
    return *found;
  }

 private:
  /// Searches no longer than it takes to know whether the plan is within the budget.
  Arrangement& arrangement_of(const RematPlan& plan, std::int64_t budget) {
    constexpr std::int64_t kSteps = 100'000;
    auto found = arrangements_.find(plan.steps);
    if (found == arrangements_.end()) {
      found = arrangements_.emplace(plan.steps, arranged(dag_, plan, options_.seed, 0)).first;
    }
    Arrangement& result = found->second;
    const bool may_be_lower =
        !result.offsets.optimal() && !searched_.contains(&result) && result.size > budget;
    if (may_be_lower && dag_.resident + result.offsets.lower_bound <= budget) {
      result = arranged(dag_, plan, options_.seed, kSteps);
      searched_.insert(&result);
    }
    return result;
  }

  /// The least budget that within() grants: that of a plan that is there from some budget on, and
  /// whose arena takes so much.
  [[noreturn]] void refuse(std::int64_t budget) {
    std::int64_t least = kNone;
    for (const std::int64_t end : ladder_.block_ends()) {
      while (ladder_.search_below(end - 1, kNone)) {
      }
      for (const Rung& rung : ladder_.rungs()) {
        if (rung.budget >= least) break;
        least = std::min(least, std::max(rung.budget, arrangement_of(rung.plan, 0).size));
        // Only where it may become less is it worth a search.
        const Arrangement& found = arrangement_of(rung.plan, least - 1);
        least = std::min(least, std::max(rung.budget, found.size));
      }
      if (least <= end) break;
    }
    throw BudgetError(budget, least, ladder_.bound());
  }

  const Dag& dag_;
  const RematOptions& options_;
  remat::Ladder ladder_;
  std::map<std::vector<int>, Arrangement> arrangements_;
  std::set<const Arrangement*> searched_;
};

}  // namespace

Arrangement arrange(const Dag& dag, std::int64_t budget, const RematOptions& options) {
  check(dag);
  return Search(dag, options).within(budget);
}

std::optional<std::string> validate(const Dag& dag, const Arrangement& arrangement,
                                    std::int64_t budget) {
  if (auto problem = validate(dag, arrangement.schedule, budget)) return problem;
  const OffsetProblem needed = lifetimes_of(dag, arrangement.schedule.steps).problem;
  if (auto problem = validate(needed, arrangement.offsets)) return problem;
  const std::int64_t size = dag.resident + arrangement.offsets.height;
  if (size != arrangement.size)
    return fmt::format("it takes {} bytes, not {}", size, arrangement.size);
  if (size > budget) return fmt::format("it takes {} bytes, above the budget {}", size, budget);
  return std::nullopt;
}

}  // namespace tenure::planner
