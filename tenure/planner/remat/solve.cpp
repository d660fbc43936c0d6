#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "tenure/planner/order.h"
#include "tenure/planner/remat.h"
#include "tenure/planner/remat/anneal.h"
#include "tenure/planner/remat/starts.h"

namespace tenure::planner {

BudgetError::BudgetError(std::int64_t budget, std::int64_t least, std::int64_t bound)
    : ValueError(fmt::format("the program does not fit into {} bytes: the least budget known to "
                             "suffice is {}, and none below {} can",
                             budget, least, bound)),
      budget_(budget),
      least_(least),
      bound_(bound) {}

namespace remat {
namespace {

using Word = std::vector<int>;

std::vector<int> topological_order(const Problem& problem) {
  std::vector<int> waits_for(problem.end, 0);
  std::vector<std::vector<int>> readers(problem.end);
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int node = 0; node < problem.end; ++node) {
    for (int input : problem.inputs(node)) readers[input].push_back(node);
    waits_for[node] = static_cast<int>(problem.inputs(node).size());
    if (waits_for[node] == 0) ready.push(node);
  }
  std::vector<int> order;
  while (!ready.empty()) {
    const int node = ready.top();
    ready.pop();
    order.push_back(node);
    for (int reader : readers[node])
      if (--waits_for[reader] == 0) ready.push(reader);
  }
  return order;
}

/// The given order with the end appended, or one of our own.
Word base_word(const Problem& problem, const std::vector<int>& given) {
  Word word = given.empty() ? topological_order(problem) : given;
  std::vector<char> done(problem.end, false);
  for (int node : word) {
    if (node < 0 || node >= problem.end || done[node])
      throw ValueError(fmt::format("the given order names {} twice, or it is no node", node));
    for (int input : problem.inputs(node))
      if (!done[input])
        throw ValueError(
            fmt::format("the given order has node {} before its input {}", node, input));
    done[node] = true;
  }
  if (static_cast<int>(word.size()) != problem.end)
    throw ValueError(fmt::format("the given order has {} nodes of {}", word.size(), problem.end));
  word.push_back(problem.end);
  return word;
}

class Solver {
 public:
  Solver(const Dag& dag, const RematOptions& options)
      : dag_(dag),
        options_(options),
        problem_(dag),
        in_bytes_(dag, Problem::Unit::byte),
        base_(base_word(problem_, options.given)),
        bound_(lower_bound(in_bytes_)) {
    keep(base_);
    base_peak_ = known_.front().peak;
  }

  std::int64_t bound() const { return bound_; }

  /// The best plan known for a budget, or null.
  const RematPlan* known(std::int64_t budget) const {
    const RematPlan* best = nullptr;
    for (const RematPlan& plan : known_)
      if (plan.peak <= budget && (best == nullptr || plan.added_cost < best->added_cost ||
                                  (plan.added_cost == best->added_cost && plan.peak < best->peak)))
        best = &plan;
    return best;
  }

  void add(RematPlan plan) { known_.push_back(std::move(plan)); }
  void improve(std::int64_t budget);
  const RematPlan& find_least();

 private:
  void keep(const Word& word);
  void reorder();
  Word best_start(std::int64_t budget);
  void anneal(std::int64_t budget, const Word& start, Effort& effort);
  void refine(Annealer& annealer, const Word& start, int patience, Random& random,
              Effort& effort) const;
  Word lean_word(std::int64_t budget, Effort& effort);
  Word word_of(const RematPlan& plan) const;
  std::int64_t moves_per_round() const {
    constexpr std::int64_t kLeast = 2'000;
    // Each move may touch the whole word, so large programs get fewer.
    const std::int64_t affordable = 150'000'000 / (problem_.end + 1);
    return std::clamp<std::int64_t>(std::int64_t{1'000} * problem_.end, kLeast,
                                    std::clamp<std::int64_t>(affordable, kLeast, 200'000));
  }

  const Dag& dag_;
  const RematOptions& options_;
  Problem problem_;
  Problem in_bytes_;
  Word base_;
  Word ordered_;
  std::int64_t base_peak_ = 0;
  std::int64_t bound_;
  std::vector<RematPlan> known_;
};

void Solver::keep(const Word& word) {
  if (word.empty()) return;
  const Timeline line(in_bytes_, std::numeric_limits<std::int64_t>::max(), word);
  RematPlan plan;
  plan.steps.assign(word.begin(), word.end() - 1);
  plan.added_cost = line.cost() - problem_.base_cost;
  plan.peak = line.peak();
  known_.push_back(std::move(plan));
}

Word Solver::word_of(const RematPlan& plan) const {
  Word word = plan.steps;
  word.push_back(problem_.end);
  return word;
}

Word Solver::best_start(std::int64_t budget) {
  for (const EvictionRule& rule : eviction_rules(problem_))
    keep(run_with_eviction(problem_, base_, problem_.scaled(budget), rule,
                           kLongestWord / 4 * (problem_.end + 1)));
  const RematPlan* best = known(budget);
  return best == nullptr ? base_ : word_of(*best);
}

/// Another order may need nothing computed twice.
void Solver::reorder() {
  if (!ordered_.empty()) return;
  constexpr std::int64_t kSteps = 1'000'000;
  constexpr double kShareOfTime = 0.1;
  ordered_ = order(dag_, {.deadline = kShareOfTime * options_.deadline,
                          .steps = std::min(kSteps, options_.steps),
                          .seed = options_.seed,
                          .given = options_.given})
                 .order;
  ordered_.push_back(problem_.end);
  keep(ordered_);
}

void Solver::improve(std::int64_t budget) {
  if (budget < bound_) return;
  Effort effort(options_.deadline, options_.steps);
  if (budget < base_peak_) reorder();
  const RematPlan* best = known(budget);
  if (best != nullptr && best->added_cost == 0) return;
  anneal(budget, best_start(budget), effort);
}

void Solver::anneal(std::int64_t budget, const Word& start, Effort& effort) {
  // Several contenders begin anew; the best returns to its best word again and again, a little
  // hotter than that word likes, until that helps no more. Then all begins again: there are valleys
  // that only luck leads to. A budget that is a little off leads to others, from which the way back
  // is short.
  constexpr int kCampaigns = 20;
  constexpr int kFruitlessAtFirst = 2;
  constexpr int kFruitless = 16;
  constexpr double kFarthest = 0.015;
  Random random(options_.seed);
  for (int campaign = 0; campaign < kCampaigns && !effort.is_spent(); ++campaign) {
    std::optional<Annealer> best;
    for (const Word* word :
         std::initializer_list<const Word*>{&start, &base_, &base_, &ordered_, &base_}) {
      const double off = best ? kFarthest * (random.unit() - 0.25) : 0;
      const std::int64_t scaled = problem_.scaled(budget);
      Annealer scout(problem_,
                     scaled + static_cast<std::int64_t>(off * static_cast<double>(scaled)),
                     random.next());
      scout.walk(*word, {.hot = 1, .cold = 0.01, .excess_price = 0.5}, 2 * moves_per_round(),
                 effort);
      refine(scout, *word, kFruitlessAtFirst, random, effort);
      keep(scout.best());
      Annealer contender(problem_, scaled, random.next());
      refine(contender, scout.best().empty() ? *word : scout.best(), kFruitlessAtFirst, random,
             effort);
      if (!best || contender.best_cost() < best->best_cost()) best.emplace(std::move(contender));
    }
    refine(*best, start, kFruitless, random, effort);
    keep(best->best());
    if (best->best_cost() == problem_.base_cost) return;
  }
}

void Solver::refine(Annealer& annealer, const Word& start, int patience, Random& random,
                    Effort& effort) const {
  for (int fruitless = 0; fruitless < patience && !effort.is_spent();) {
    const std::int64_t before = annealer.best_cost();
    const Word from = annealer.best().empty() ? start : annealer.best();
    constexpr int kPercentRebuilds[] = {1, 4, 16};
    constexpr int kShorter[] = {1, 1, 2};
    const int kind = random.below(3);
    const Cooling cooling{.hot = 0.02 * std::pow(25.0, random.unit()),
                          .cold = 0.01,
                          .percent_rebuilds = kPercentRebuilds[kind]};
    annealer.walk(from, cooling, moves_per_round() / kShorter[kind], effort);
    fruitless = annealer.best_cost() < before ? 0 : fruitless + 1;
  }
}

/// A word within the budget, whatever it costs, or none.
Word Solver::lean_word(std::int64_t budget, Effort& effort) {
  const std::int64_t scaled = problem_.scaled(budget);
  for (const EvictionRule& rule : eviction_rules(problem_)) {
    Word word =
        run_with_eviction(problem_, base_, scaled, rule, kLongestWord / 4 * (problem_.end + 1));
    if (!word.empty()) return word;
  }
  const RematPlan* leanest = &known_.front();
  for (const RematPlan& plan : known_)
    if (plan.peak < leanest->peak) leanest = &plan;
  Annealer annealer(problem_, scaled, options_.seed);
  annealer.walk(word_of(*leanest), {.hot = 0.5, .cold = 0.05, .excess_price = 100},
                moves_per_round(), effort);
  return annealer.best();
}

const RematPlan& Solver::find_least() {
  // The search below ends after so many trials, whatever the deadline: where a budget is refused,
  // the text must say which one would do.
  constexpr int kTrials = 24;
  Effort effort(std::numeric_limits<double>::infinity(), kTrials * moves_per_round());
  reorder();
  std::int64_t low = bound_;
  std::int64_t high = base_peak_;
  for (const RematPlan& plan : known_) high = std::min(high, plan.peak);
  for (int trial = 0; trial < kTrials && low < high; ++trial) {
    const std::int64_t middle = trial == 0 ? low : low + (high - low) / 2;
    const Word word = lean_word(middle, effort);
    keep(word);
    if (word.empty())
      low = middle + 1;
    else
      high = std::min(high, known_.back().peak);
  }
  const RematPlan* least = &known_.front();
  for (const RematPlan& plan : known_)
    if (plan.peak < least->peak ||
        (plan.peak == least->peak && plan.added_cost < least->added_cost))
      least = &plan;
  return *least;
}

}  // namespace
}  // namespace remat

LeastBudget least_budget(const Dag& dag, const RematOptions& options) {
  check(dag);
  remat::Solver solver(dag, options);
  LeastBudget least;
  least.plan = solver.find_least();
  least.bound = solver.bound();
  return least;
}

std::vector<RematPlan> rematerialize(const Dag& dag, const std::vector<std::int64_t>& budgets,
                                     const RematOptions& options) {
  check(dag);
  remat::Solver solver(dag, options);
  std::vector<std::int64_t> ascending = budgets;
  std::sort(ascending.begin(), ascending.end());
  for (std::int64_t budget : ascending) {
    solver.improve(budget);
    if (solver.known(budget) != nullptr) continue;
    // A search of its own, so that it finds what least_budget() finds.
    LeastBudget least = least_budget(dag, options);
    if (least.plan.peak > budget) throw BudgetError(budget, least.plan.peak, least.bound);
    solver.add(std::move(least.plan));
    solver.improve(budget);
  }
  std::vector<RematPlan> plans;
  for (std::int64_t budget : budgets) plans.push_back(*solver.known(budget));
  return plans;
}

RematPlan rematerialize(const Dag& dag, std::int64_t budget, const RematOptions& options) {
  return rematerialize(dag, std::vector<std::int64_t>{budget}, options).front();
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
