#include "tenure/planner/remat/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <queue>
#include <utility>

#include "tenure/planner/elementary.h"
#include "tenure/planner/remat/starts.h"
#include "tenure/planner/remat/word.h"

namespace tenure::planner::remat {
namespace {

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

}  // namespace

WordSearch::WordSearch(const Dag& dag, const RematOptions& options, const Effort& clock)
    : options_(options),
      clock_(clock),
      problem_(dag),
      in_bytes_(dag, Problem::Unit::byte),
      cost_bound_(in_bytes_),
      orders_{with_end(options.given)} {}

WordSearch::Word WordSearch::with_end(const std::vector<int>& given) const {
  Word word = given.empty() ? topological_order(problem_) : given;
  std::vector<char> done(problem_.end, false);
  for (int node : word) {
    if (node < 0 || node >= problem_.end || done[node])
      throw ValueError(fmt::format("the given order names {} twice, or it is no node", node));
    for (int input : problem_.inputs(node))
      if (!done[input])
        throw ValueError(
            fmt::format("the given order has node {} before its input {}", node, input));
    done[node] = true;
  }
  if (static_cast<int>(word.size()) != problem_.end)
    throw ValueError(fmt::format("the given order has {} nodes of {}", word.size(), problem_.end));
  word.push_back(problem_.end);
  return word;
}

void WordSearch::add_order(Word order) {
  // Each order costs as much time again, of which long programs take enough.
  constexpr int kLong = 20'000;
  if (order == orders_[0]) return;
  if (problem_.end <= kLong)
    orders_.push_back(std::move(order));
  else if (measure(in_bytes_, order).peak < measure(in_bytes_, orders_[0]).peak)
    orders_[0] = std::move(order);
}

bool WordSearch::is_proven(const Word& word, std::int64_t budget) const {
  return measure(in_bytes_, word).cost - problem_.base_cost <= cost_bound_.at(budget);
}

std::int64_t WordSearch::moves_per_round() const {
  constexpr std::int64_t kLeast = 2'000;
  // Each move may touch the whole word, so large programs get fewer.
  const std::int64_t affordable = 150'000'000 / (problem_.end + 1);
  return std::clamp<std::int64_t>(std::int64_t{1'000} * problem_.end, kLeast,
                                  std::clamp<std::int64_t>(affordable, kLeast, 200'000));
}

WordSearch::Word WordSearch::lean(std::int64_t budget, const Word& start) const {
  const std::int64_t scaled = problem_.scaled(budget);
  for (const Word& order : orders_) {
    for (const EvictionRule& rule : eviction_rules(problem_)) {
      if (clock_.is_spent()) return {};
      Word word =
          run_with_eviction(problem_, order, scaled, rule, kLongestWord / 4 * (problem_.end + 1));
      if (!word.empty()) return word;
    }
  }
  const std::int64_t moves =
      std::clamp<std::int64_t>(20'000'000 / static_cast<std::int64_t>(start.size()), 200, 50'000);
  Effort effort(clock_.seconds_left(), moves);
  Annealer annealer(problem_, scaled, options_.seed);
  annealer.walk(start, {.hot = 0.5, .cold = 0.05, .excess_price = 100}, moves, effort);
  return annealer.best();
}

WordSearch::Word WordSearch::quick(std::int64_t budget) const {
  for (const Word& order : orders_) {
    for (const EvictionRule& rule : eviction_rules(problem_)) {
      Word word =
          run_with_eviction(problem_, order, problem_.scaled(budget), rule, 2 * (problem_.end + 1));
      if (!word.empty()) return word;
    }
  }
  return {};
}

WordSearch::Word WordSearch::best_eviction(std::int64_t budget) const {
  Word best;
  Measure best_measure;
  for (const Word& order : orders_) {
    for (const EvictionRule& rule : eviction_rules(problem_)) {
      if (!best.empty() && clock_.is_spent()) return best;
      Word word = run_with_eviction(problem_, order, problem_.scaled(budget), rule,
                                    kLongestWord / 4 * (problem_.end + 1));
      if (word.empty()) continue;
      const Measure measured = measure(in_bytes_, word);
      if (!best.empty() && measured.cost >= best_measure.cost) continue;
      best = std::move(word);
      best_measure = measured;
    }
  }
  return best;
}

WordSearch::Word WordSearch::anneal(std::int64_t budget, const Word& start, std::uint64_t seed,
                                    std::int64_t moves) const {
  if (moves <= 4 * moves_per_round()) return anneal_briefly(budget, start, moves, seed);
  Effort effort(clock_.seconds_left(), moves);
  return anneal(budget, start, seed, effort);
}

/// A walk that begins hot, and some that do not.
WordSearch::Word WordSearch::anneal_briefly(std::int64_t budget, const Word& start,
                                            std::int64_t moves, std::uint64_t seed) const {
  Effort effort(clock_.seconds_left(), moves);
  SplitMix random(seed);
  Annealer annealer(problem_, problem_.scaled(budget), random.next());
  annealer.walk(start, {.hot = 0.5, .cold = 0.01, .excess_price = 0.5}, moves / 2, effort);
  const std::int64_t round = std::max<std::int64_t>(1, moves / 8);
  refine(annealer, start, round, std::numeric_limits<int>::max(), random, effort);
  return annealer.best().empty() ? start : annealer.best();
}

WordSearch::Word WordSearch::anneal(std::int64_t budget, const Word& start, std::uint64_t seed,
                                    Effort& effort) const {
  // Several contenders begin anew; the best returns to its best word again and again, a little
  // hotter than that word likes, until that helps no more. Then all begins again: there are valleys
  // that only luck leads to. A budget that is a little off leads to others, from which the way back
  // is short.
  constexpr int kFruitlessAtFirst = 2;
  constexpr int kFruitless = 16;
  constexpr double kFarthest = 0.015;
  SplitMix random(seed);
  const std::int64_t scaled = problem_.scaled(budget);
  const std::int64_t moves = moves_per_round();
  const Word& given = orders_.front();
  const Word& ordered = orders_.back();
  Word best = start;
  while (!effort.is_spent() && !is_proven(best, budget)) {
    std::optional<Annealer> leader;
    for (const Word* word : {&start, &given, &given, &ordered, &given}) {
      if (effort.is_spent()) break;
      const double off = leader ? kFarthest * (random.unit() - 0.25) : 0;
      Annealer scout(problem_,
                     scaled + static_cast<std::int64_t>(off * static_cast<double>(scaled)),
                     random.next());
      scout.walk(*word, {.hot = 1, .cold = 0.01, .excess_price = 0.5}, 2 * moves, effort);
      refine(scout, *word, moves, kFruitlessAtFirst, random, effort);
      Annealer contender(problem_, scaled, random.next());
      refine(contender, scout.best().empty() ? *word : scout.best(), moves, kFruitlessAtFirst,
             random, effort);
      if (!leader || contender.best_cost() < leader->best_cost())
        leader.emplace(std::move(contender));
    }
    if (!leader) break;
    refine(*leader, start, moves, kFruitless, random, effort);
    if (!leader->best().empty() && leader->best_cost() < measure(problem_, best).cost)
      best = leader->best();
    if (options_.progress) options_.progress(effort.share());
  }
  return best;
}

void WordSearch::refine(Annealer& annealer, const Word& start, std::int64_t moves, int patience,
                        SplitMix& random, Effort& effort) const {
  for (int fruitless = 0; fruitless < patience && !effort.is_spent();) {
    const std::int64_t before = annealer.best_cost();
    const Word from = annealer.best().empty() ? start : annealer.best();
    constexpr int kPercentRebuilds[] = {1, 4, 16};
    constexpr int kShorter[] = {1, 1, 2};
    const int kind = random.below(3);
    const Cooling cooling{.hot = 0.02 * power(25.0, random.unit()),
                          .cold = 0.01,
                          .percent_rebuilds = kPercentRebuilds[kind]};
    annealer.walk(from, cooling, std::max<std::int64_t>(1, moves / kShorter[kind]), effort);
    fruitless = annealer.best_cost() < before ? 0 : fruitless + 1;
  }
}

}  // namespace tenure::planner::remat
