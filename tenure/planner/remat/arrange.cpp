#include "tenure/planner/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "tenure/planner/remat/effort.h"
#include "tenure/planner/remat/ladder.h"

namespace tenure::planner {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();

/// What a schedule's arena takes. It does not depend on the budget, so that equal schedules fit
/// equally: the search for offsets has no goal but the least height.
Arrangement arranged(const Dag& dag, const RematPlan& schedule, const OffsetOptions& options) {
  Arrangement result{schedule, lifetimes_of(dag, schedule.steps), {}, 0};
  result.offsets = solve(result.lifetimes.problem, options);
  result.size = dag.resident + result.offsets.height;
  return result;
}

/// What decides about budgets: nothing that has to do with time.
RematOptions timeless(RematOptions options) {
  if (std::isinf(options.deadline)) return options;
  options.deadline = std::numeric_limits<double>::infinity();
  options.steps = std::min(options.steps, RematOptions{}.steps);
  return options;
}

class Search {
 public:
  Search(const Dag& dag, const RematOptions& options)
      : dag_(dag),
        has_deadline_(!std::isinf(options.deadline)),
        // The arena of what it finds takes some time, too.
        effort_(kShareOfSchedules * options.deadline, options.steps),
        clock_(options.deadline, kNone),
        options_(timeless(options)),
        ladder_(dag, options_, has_deadline_ ? &clock_ : nullptr) {}

  Arrangement within(std::int64_t budget) {
    if (has_deadline_ && !options_.hint.empty()) ladder_.hint();  // throws if it is no order
    if (ladder_.is_exact()) ladder_.climb_all();
    std::optional<Arrangement> found;
    if (has_deadline_) found = find_quickly(budget);
    const bool may_fit = found || ladder_.fits_plainly(budget) || ladder_.least().peak <= budget;
    if (may_fit && !found) found = find_fit(budget);
    while (may_fit && !(found && has_deadline_) &&
           ladder_.search_below(budget, found ? found->schedule.added_cost : kNone))
      found = find_fit(budget);
    if (!found && is_over()) found = find_hint(budget);
    if (!found) refuse(budget);
    found->schedule = ladder_.bounded(found->schedule, budget);
    if (has_deadline_ && !found->schedule.optimal()) improve(*found, budget);
    return *found;
  }

 private:
  static constexpr double kShareOfSchedules = 0.95;
  static constexpr double kForever = std::numeric_limits<double>::infinity();
  static constexpr int kMostLevels = 2;

  struct Placed {
    Arrangement arrangement;
    int level = 0;  // of the search that it comes from
  };

  /// The cheapest of the known plans for budgets up to `budget` whose arena is within it. With a
  /// deadline, the one of them that is known to be soonest: something cheaper is looked for later.
  std::optional<Arrangement> find_fit(std::int64_t budget) {
    std::optional<Arrangement> found;
    for (int levels = has_deadline_ ? 0 : kMostLevels; !found && levels <= kMostLevels; ++levels)
      found = find_fit(budget, levels);
    return found;
  }

  /// With a deadline: the cheapest that does, of those that are known in whatever time there is.
  std::optional<Arrangement> find_quickly(std::int64_t budget) {
    std::optional<Arrangement> found;
    for (const Rung& rung : ladder_.quick()) {
      const Arrangement& other = arrangement_of(rung.plan, budget, 0);
      quick_ = std::min(quick_, other.size);
      if (other.size > budget) continue;
      if (!found || other.schedule.added_cost < found->schedule.added_cost) found = other;
    }
    return found;
  }

  /// The hint, if it does.
  std::optional<Arrangement> find_hint(std::int64_t budget) {
    if (options_.hint.empty()) return std::nullopt;
    const Arrangement& found = arrangement_of(ladder_.hint(), budget, 0);
    return found.size <= budget ? std::optional(found) : std::nullopt;
  }

  std::optional<Arrangement> find_fit(std::int64_t budget, int levels) {
    for (const Rung* rung : ladder_.candidates()) {
      if (rung->budget > budget) continue;
      if (is_over()) return std::nullopt;
      const Arrangement& found = arrangement_of(rung->plan, budget, levels, seconds_left());
      if (found.size <= budget) return found;
    }
    return std::nullopt;
  }

  /// What is known exactly is known at once.
  bool is_over() const { return has_deadline_ && !ladder_.is_exact() && clock_.is_spent(); }
  double seconds_left() const { return has_deadline_ ? clock_.seconds_left() : kForever; }

  /// Looks for something cheaper until the time is over. What is found by then gets its place.
  void improve(Arrangement& best, std::int64_t budget) {
    constexpr int kMostLate = 4;
    ladder_.focus(budget, effort_);
    int late = 0;
    for (const Rung* rung : ladder_.candidates()) {
      const RematPlan& plan = rung->plan;
      if (rung->budget > budget) continue;
      if (plan.added_cost >= best.schedule.added_cost) break;
      const bool is_late = clock_.is_spent();
      if (is_late && ++late > kMostLate) break;
      const Arrangement& found =
          arrangement_of(plan, budget, is_late ? 0 : kMostLevels, seconds_left());
      if (found.size > budget) continue;
      best = found;
      break;
    }
    best.schedule = ladder_.bounded(best.schedule, budget);
  }

  /// Searches no longer than it takes to know whether the plan is within the budget.
  const Arrangement& arrangement_of(const RematPlan& plan, std::int64_t budget,
                                    int levels = kMostLevels, double seconds = kForever) {
    auto found = arrangements_.find(plan.steps);
    if (found == arrangements_.end()) {
      found = arrangements_.emplace(plan.steps, Placed{placed(plan, 0, seconds)}).first;
    }
    Placed& known = found->second;
    Arrangement& best = known.arrangement;
    // An order that does without repetitions is worth the search that it gets without a budget.
    const bool is_plain = plan.added_cost == 0 && steps_of(2) > steps_of(1);
    const int most = std::min(levels, is_plain ? 2 : 1);
    while (known.level < most && best.size > budget &&
           dag_.resident + best.offsets.lower_bound <= budget) {
      ++known.level;
      Arrangement other = placed(plan, steps_of(known.level), seconds);
      if (other.size < best.size) best = std::move(other);
    }
    return best;
  }

  Arrangement placed(const RematPlan& plan, std::int64_t steps, double seconds) const {
    return arranged(dag_, plan, {.deadline = seconds, .steps = steps, .seed = options_.seed});
  }

  std::int64_t steps_of(int level) const {
    constexpr std::int64_t kLeast = 100'000;
    const double share = static_cast<double>(options_.steps) / RematOptions{}.steps;
    const double steps = static_cast<double>(level == 1 ? kLeast : OffsetOptions{}.steps) * share;
    return std::max(kLeast, static_cast<std::int64_t>(std::min(steps, 1e18)));
  }

  /// The least budget that within() grants: that of a plan that is there from some budget on, and
  /// whose arena takes so much.
  [[noreturn]] void refuse(std::int64_t budget) {
    const bool is_known = !is_over();
    std::int64_t least = kNone;
    const auto search_and_look = [&](std::int64_t most) {
      while (ladder_.search_below(most, kNone)) {
      }
      // The lowest first: what they take makes most of the others hopeless.
      std::vector<const Rung*> all = ladder_.candidates();
      std::stable_sort(all.begin(), all.end(),
                       [](const Rung* a, const Rung* b) { return a->budget < b->budget; });
      for (const Rung* rung : all) {
        if (rung->budget >= least || is_over()) break;
        const auto size_within = [&](std::int64_t bytes) {
          return arrangement_of(rung->plan, bytes, kMostLevels, seconds_left()).size;
        };
        least = std::min(least, std::max(rung->budget, size_within(0)));
        // Only where it may become less is it worth a search.
        for (std::int64_t before = kNone; rung->budget < least && least < before;) {
          before = least;
          least = std::min(least, std::max(rung->budget, size_within(least - 1)));
        }
      }
    };
    for (const std::int64_t end : ladder_.block_ends()) {
      search_and_look(end - 1);
      if (least <= end) break;
    }
    search_and_look(least - 1);
    // What is only found if there is time enough is nothing to rely on.
    if (is_over()) least = quick_;
    throw BudgetError(budget, least, ladder_.bound(), is_known);
  }

  const Dag& dag_;
  const bool has_deadline_;
  remat::Effort effort_;
  remat::Effort clock_;
  const RematOptions options_;
  remat::Ladder ladder_;
  std::int64_t quick_ = kNone;  // what find_quickly() grants
  std::map<std::vector<int>, Placed> arrangements_;
};

}  // namespace

Arrangement arrange(const Dag& dag, std::int64_t budget, const RematOptions& options) {
  remat::check(dag, options);
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
