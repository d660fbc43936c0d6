#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tenure/base/error.h"
#include "tenure/planner/dag.h"

// Rematerialization when the whole program is known. A schedule is the list of nodes in the order
// in which they are computed, pure ones as often as they like. A step reads the latest results of
// its inputs; a result is freed after its last read before its node is computed again, an output's
// last one never. While a step runs, these are live: what it or a later step reads before it is
// made again, its own result and its workspace. A step that overwrites an input, being its last
// reader, needs no memory for its result; what the input had more is free again afterwards. The
// peak is the most that is live at a time. An arena may need more, for gaps between buffers:
// arrange.h gives schedules whose arena is within a budget.
//
// Plans are monotone. With equal options, in whatever calls and processes: what a budget is
// granted, every larger one is granted, at no higher cost. With a deadline, which may end a search
// anywhere, only the first holds.
//
// The order of the first computations is free, within the inputs. That is a relaxation of Checkmate
// and others, who compute new nodes in the given order only: an optimum here may lie below theirs.

namespace tenure::planner {

struct RematOptions {
  double deadline = std::numeric_limits<double>::infinity();  ///< in seconds from the call
  /// Stop after this many changes looked at; a second has some millions for a program of a few
  /// hundred nodes. What is usual finds a good plan within a second; ten times as many may make it
  /// a little cheaper. Without a deadline the plan depends on this, the seed and the problem alone.
  std::int64_t steps = 2'000'000;
  std::uint64_t seed = 0;
  /// The order to begin with. Without one it is that of the nodes' indices, where that is
  /// topological. The search begins with better orders, too: up to 300 nodes with what order()
  /// finds in 3,000,000 steps, above with what it finds quickly.
  std::vector<int> given{};
  /// Another order, of use with a deadline only: it may make plans cheaper, or do where the time is
  /// over, and has no say in what is refused. So it may itself come from a search that ended with
  /// the time.
  std::vector<int> hint{};
  /// Is told now and then how much of the search is done, from 0 to 1.
  std::function<void(double)> progress{};
};

struct RematPlan {
  std::vector<int> steps;       ///< the nodes, in the order in which they are computed
  std::int64_t added_cost = 0;  ///< of the second and later computations
  std::int64_t peak = 0;        ///< most bytes live at a time, with the resident ones
  std::int64_t cost_bound = 0;  ///< no schedule within the budget adds less

  /// The added cost is proven to be the least.
  bool optimal() const { return added_cost == cost_bound; }
};

/// No schedule within a budget is known.
class BudgetError : public ValueError {
 public:
  BudgetError(std::int64_t budget, std::int64_t least, std::int64_t bound, bool is_final = true);

  std::int64_t budget() const { return budget_; }
  /// The least budget for which a schedule is known.
  std::int64_t least() const { return least_; }
  /// No schedule has a lower peak; between this and least() nothing is known.
  std::int64_t bound() const { return bound_; }
  /// False where a deadline ended the search before it was known whether the budget suffices.
  bool is_final() const { return is_final_; }

 private:
  std::int64_t budget_;
  std::int64_t least_;
  std::int64_t bound_;
  bool is_final_;
};

// In remat/solve.cpp.

/// A schedule of a peak within the budget at low added cost; none where the best order does
/// without. It is proven to be the cheapest for programs of up to 10 nodes, and where a bound is
/// met. Throws ValueError for what check() refuses and for a given order that is none, and
/// BudgetError exactly for budgets below least_budget().plan.peak; whether a budget is refused
/// depends on the program, the seed and the given order alone.
RematPlan rematerialize(const Dag& dag, std::int64_t budget, const RematOptions& options = {});

/// A plan for each budget, the same as one by one, in the time of the largest. A deadline is
/// shared.
std::vector<RematPlan> rematerialize(const Dag& dag, const std::vector<std::int64_t>& budgets,
                                     const RematOptions& options = {});

/// A budget, and the plan for budgets from it up to the next rung's.
struct Rung {
  std::int64_t budget = 0;
  RematPlan plan;
};

/// All plans that there are for any budget, without a deadline: rematerialize() gives one that
/// costs as much as that of the last rung whose budget is not above its own, and throws below the
/// first.
std::vector<Rung> ladder(const Dag& dag, const RematOptions& options = {});

struct LeastBudget {
  std::int64_t bound = 0;  ///< no schedule has a lower peak
  RematPlan plan;          ///< of the lowest peak known; rematerialize() accepts that as a budget
};

/// The least memory that the program can run in. It is proven for programs of up to 10 nodes.
LeastBudget least_budget(const Dag& dag, const RematOptions& options = {});

/// What is wrong with a plan, if it is to stay within the budget; nothing if all is well. It is
/// simple, and shares no code with the solver. In remat/validate.cpp.
std::optional<std::string> validate(const Dag& dag, const RematPlan& plan, std::int64_t budget);

/// For each step of a schedule the nodes whose results are freed when it is done.
std::vector<std::vector<int>> freed_after(const Dag& dag, const std::vector<int>& steps);

}  // namespace tenure::planner
