#include "tenure/planner/remat/ladder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "tenure/planner/order.h"
#include "tenure/planner/remat/exact.h"
#include "tenure/planner/remat/starts.h"
#include "tenure/planner/remat/word.h"

namespace tenure::planner::remat {
namespace {

using Word = std::vector<int>;

constexpr int kRungsOfBlock = 4;

/// Keeps a rung if it is of use among others, of which it may make some superfluous.
void insert(std::vector<Rung>& rungs, const Rung& rung) {
  const auto later = std::find_if(rungs.begin(), rungs.end(),
                                  [&](const Rung& other) { return other.budget > rung.budget; });
  if (later != rungs.begin()) {
    const Rung& before = *(later - 1);
    const auto value = [](const RematPlan& plan) { return std::pair(plan.added_cost, plan.peak); };
    if (before.plan.added_cost < rung.plan.added_cost ||
        (before.plan.added_cost == rung.plan.added_cost &&
         (before.budget < rung.budget || value(before.plan) <= value(rung.plan))))
      return;
  }
  const auto first = std::find_if(rungs.begin(), rungs.end(),
                                  [&](const Rung& other) { return other.budget >= rung.budget; });
  const auto last = std::find_if(first, rungs.end(), [&](const Rung& other) {
    return other.plan.added_cost < rung.plan.added_cost;
  });
  rungs.insert(rungs.erase(first, last), rung);
}

}  // namespace

Ladder::Ladder(const Dag& dag, const RematOptions& options, const Effort* clock)
    : dag_(dag),
      options_(options),
      clock_(clock != nullptr ? *clock : forever_),
      search_(dag, options, clock_),
      problem_(search_.scaled()),
      in_bytes_(search_.in_bytes()),
      cost_bound_(search_.cost_bound()),
      bound_(lower_bound(in_bytes_)) {
  // Another order may need nothing computed twice. What is refused depends on it, so that it has no
  // deadline.
  constexpr std::int64_t kSteps = 1'000'000;
  OrderPlan plan = order(dag, {.steps = kSteps, .given = options.given});
  order_bound_ = plan.lower_bound;
  plan.order.push_back(problem_.end);
  start_with(search_.orders().front());
  if (plan.order != search_.orders().front()) start_with(plan.order);
  search_.add_order(std::move(plan.order));
  plain_peak_ = std::numeric_limits<std::int64_t>::max();
  for (const Word& word : search_.orders()) {
    const std::int64_t peak = measure(in_bytes_, word).peak;
    plain_peak_ = std::min(plain_peak_, peak);
    keep(word, peak);
  }
  find_quick();
}

/// Between the bound and what the best order needs.
void Ladder::find_quick() {
  for (const double share : {0.75, 0.5, 0.35, 0.25, 0.18, 0.125}) {
    const auto part = static_cast<std::int64_t>(share * static_cast<double>(plain_peak_ - bound_));
    const Word word = search_.quick(bound_ + part);
    if (word.empty()) break;
    keep(word, 0);
    start_with(word);
  }
  quick_ = starts_.size();
}

Rung Ladder::rung_of(const Word& word, std::int64_t from) const {
  const Measure measured = measure(in_bytes_, word);
  Rung rung{std::max(from, measured.peak), {}};
  rung.plan.added_cost = measured.cost - problem_.base_cost;
  rung.plan.peak = measured.peak;
  rung.plan.steps.assign(word.begin(), word.end() - 1);
  return rung;
}

void Ladder::start_with(const Word& word) { starts_.push_back(rung_of(word, 0)); }

void Ladder::keep(const Word& word, std::int64_t from, Block* block) {
  if (word.empty()) return;
  const Rung rung = rung_of(word, from);
  if (block != nullptr) insert(block->rungs, rung);
  insert(rungs_, rung);
}

const RematPlan* Ladder::known(std::int64_t budget) const {
  const auto later = std::find_if(rungs_.begin(), rungs_.end(),
                                  [&](const Rung& rung) { return rung.budget > budget; });
  return later == rungs_.begin() ? nullptr : &(later - 1)->plan;
}

std::vector<const Rung*> Ladder::candidates() const {
  std::vector<const Rung*> all;
  const auto add = [&](const std::vector<Rung>& rungs) {
    for (const Rung& rung : rungs) all.push_back(&rung);
  };
  add(rungs_);
  add(starts_);
  for (const Block& block : blocks_) add(block.rungs);
  std::stable_sort(all.begin(), all.end(), [](const Rung* a, const Rung* b) {
    return a->plan.added_cost < b->plan.added_cost;
  });
  return all;
}

bool Ladder::is_exact() const { return problem_.end <= kMostExact; }

RematPlan Ladder::bounded(RematPlan plan, std::int64_t budget) const {
  plan.cost_bound = std::min(plan.added_cost, cost_bound_.at(budget));
  // Here, what is known to be the answer is known to be the cheapest.
  if (is_exact() && plan.added_cost == known(budget)->added_cost) plan.cost_bound = plan.added_cost;
  return plan;
}

Word Ladder::word_of(const RematPlan& plan) const {
  Word word = plan.steps;
  word.push_back(problem_.end);
  return word;
}

/// The first rung of a block gets half of the block's share. A move of a short word takes less
/// time.
std::int64_t Ladder::moves_per_rung() const {
  constexpr double kUsual = 400;
  const double shorter = std::clamp(kUsual / (problem_.end + 1), 0.2, 1.5);
  const double share = static_cast<double>(options_.steps) / (2 * blocks_of_one_budget_);
  // What is usual is more than small programs need.
  const double enough = static_cast<double>(4 * search_.moves_per_round()) *
                        std::max(1.0, static_cast<double>(options_.steps) / RematOptions{}.steps);
  return static_cast<std::int64_t>(std::min(share * shorter, enough));
}

void Ladder::tell(double share) const {
  if (options_.progress) options_.progress(share);
}

// The least budget ------------------------------------------------------------------------------

const RematPlan& Ladder::least() {
  if (!has_least_) find_least();
  has_least_ = true;
  return least_;
}

void Ladder::find_least() {
  Word leanest = word_of(rungs_.front().plan);
  if (is_exact()) {
    leanest = leanest_word(in_bytes_);
    bound_ = measure(in_bytes_, leanest).peak;
  }
  // Bisection that ends after so many trials: whether a budget is refused must not depend on time.
  const int trials = std::clamp(100'000 / (problem_.end + 1), 2, 24);
  constexpr std::int64_t kPrecision = 1'024;
  std::int64_t low = bound_;
  std::int64_t high = measure(in_bytes_, leanest).peak;
  for (int trial = 0; trial < trials && low < high - high / kPrecision && !clock_.is_spent();
       ++trial) {
    const std::int64_t middle = trial == 0 ? low : low + (high - low) / 2;
    Word word = search_.lean(middle, leanest);
    if (word.empty()) {
      low = middle + 1;
      continue;
    }
    high = measure(in_bytes_, word).peak;
    leanest = std::move(word);
  }
  keep(leanest, 0);
  start_with(leanest);
  least_ = rungs_.front().plan;
}

// The rungs -------------------------------------------------------------------------------------

void Ladder::set_blocks() {
  if (!blocks_.empty() || least().peak >= plain_peak_) return;
  constexpr int kMostBlocks = 10;
  constexpr int kAffordable = 64'000;
  const int blocks = std::clamp(kAffordable / (problem_.end + 1), 1, kMostBlocks);
  const std::int64_t low = least_.peak;
  const auto budget_at = [&](int rung) {
    // Closer where costs rise faster.
    const double part = static_cast<double>(rung) / (blocks * kRungsOfBlock);
    const double share = part * std::sqrt(part);
    return low + static_cast<std::int64_t>(share * static_cast<double>(plain_peak_ - low));
  };
  for (int i = 0; i < blocks; ++i) {
    Block block;
    for (int k = 0; k < kRungsOfBlock; ++k) {
      const std::int64_t budget = budget_at(i * kRungsOfBlock + k);
      if (block.budgets.empty() || budget > block.budgets.back()) block.budgets.push_back(budget);
    }
    block.end = i + 1 < blocks ? budget_at((i + 1) * kRungsOfBlock) : plain_peak_;
    if (block.end > block.budgets.front()) blocks_.push_back(std::move(block));
  }
  share_out();
}

/// The steps are for one budget. So the fewer blocks it takes, the more there is for each: what the
/// bound says of how costs fall from block to block tells how many it will be.
void Ladder::share_out() {
  constexpr double kHope = 1.25;  // how far from the bound plans are expected to be
  const double small = 0.01 * static_cast<double>(problem_.base_cost);
  blocks_of_one_budget_ = 1;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::int64_t bound = cost_bound_.at(blocks_[i].budgets.front());
    const double cost = std::max(small, kHope * static_cast<double>(bound));
    const auto below = std::count_if(
        blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(i),
        [&](const Block& block) { return static_cast<double>(cost_bound_.at(block.end)) < cost; });
    blocks_of_one_budget_ = std::max(blocks_of_one_budget_, 1 + static_cast<int>(below));
  }
}

std::vector<std::int64_t> Ladder::block_ends() {
  if (is_exact()) climb_all();
  set_blocks();
  std::vector<std::int64_t> ends;
  for (const Block& block : blocks_) ends.push_back(block.end);
  if (ends.empty()) ends.push_back(plain_peak_);
  return ends;
}

bool Ladder::search_below(std::int64_t budget, std::int64_t cost) {
  if (cost <= cost_bound_.at(budget) || is_exact() || clock_.is_spent()) return false;
  if (budget >= order_bound_ && !has_searched_orders_) {
    search_orders(clock_.seconds_left());
    return true;
  }
  set_blocks();
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    Block& block = blocks_[i];
    if (block.budgets.front() > budget) continue;
    // What is found here has a peak of at most this.
    if (cost <= cost_bound_.at(std::min(budget, block.end))) return false;
    const auto wanted = static_cast<std::size_t>(
        std::upper_bound(block.budgets.begin(), block.budgets.end(), budget) -
        block.budgets.begin());
    if (block.done >= wanted) continue;
    while (block.done < wanted && !clock_.is_spent()) {
      search_rung(block, options_.seed + i * kRungsOfBlock + block.done);
      ++block.done;
    }
    return true;
  }
  return false;
}

void Ladder::climb(std::int64_t budget) {
  if (fits_plainly(budget)) return;
  if (is_exact()) return keep(cheapest_word(in_bytes_, budget), 0);
  for (double share = 0.5; search_below(budget, known(budget)->added_cost);
       share = 1 - (1 - share) / 2)
    tell(share);
}

void Ladder::climb_all() {
  least();
  if (!is_exact()) {
    while (search_below(plain_peak_ - 1, std::numeric_limits<std::int64_t>::max())) {
    }
    return;
  }
  for (std::int64_t budget = plain_peak_ - 1;;) {
    const Word word = cheapest_word(in_bytes_, budget);
    if (word.empty()) return;
    keep(word, 0);
    budget = measure(in_bytes_, word).peak - 1;
  }
}

/// Where an order alone may do, it is worth the whole search for one.
void Ladder::search_orders(double seconds) {
  if (has_searched_orders_) return;
  has_searched_orders_ = true;
  constexpr int kMostNodes = 300;  // above, it takes seconds
  if (problem_.end > kMostNodes) return;
  constexpr std::int64_t kSteps = 3'000'000;
  Word word = order(dag_, {.deadline = seconds, .steps = kSteps, .given = options_.given}).order;
  word.push_back(problem_.end);
  keep(word, 0);
  start_with(word);
}

void Ladder::search_rung(Block& block, std::uint64_t seed) {
  const std::int64_t budget = block.budgets[block.done];
  const bool is_last = block.done + 1 == block.budgets.size();
  const std::int64_t until = is_last ? block.end : block.budgets[block.done + 1];
  const std::int64_t moves = moves_per_rung();
  if (block.done == 0) block.word = word_of(least_);
  Word quick = search_.best_eviction(budget);
  if (!quick.empty() && measure(in_bytes_, quick).cost < measure(in_bytes_, block.word).cost)
    block.word = std::move(quick);
  if (!search_.is_proven(block.word, budget))
    block.word = search_.anneal(budget, block.word, seed, block.done > 0 ? moves / 3 : moves);
  keep(block.word, budget, &block);
  peel(block.word, budget, until, &block);
}

void Ladder::peel(Word word, std::int64_t from, std::int64_t limit, Block* block) {
  constexpr std::size_t kMostWork = 1'000'000;  // steps of all words that are looked at
  std::size_t work = 0;
  for (Measure now = measure(in_bytes_, word); now.cost > problem_.base_cost;) {
    // Each repetition is tried.
    work += (word.size() - static_cast<std::size_t>(problem_.end)) * word.size();
    if (work > kMostWork) return;
    Word best;
    Measure best_measure;
    double best_price = 0;
    std::vector<char> seen(problem_.end + 1, false);
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool repeats = seen[word[i]];
      seen[word[i]] = true;
      if (!repeats) continue;
      Word shorter = word;
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
      remove_unread(problem_, shorter);
      const Measure measured = measure(in_bytes_, shorter);
      if (measured.peak > limit || measured.cost >= now.cost) continue;
      const double price =
          static_cast<double>(std::max<std::int64_t>(0, measured.peak - std::max(from, now.peak))) /
          static_cast<double>(now.cost - measured.cost);
      if (!best.empty() && price >= best_price) continue;
      best = std::move(shorter);
      best_measure = measured;
      best_price = price;
    }
    if (best.empty()) return;
    word = std::move(best);
    now = best_measure;
    keep(word, from, block);
  }
}

// Search ----------------------------------------------------------------------------------------

void Ladder::focus(std::int64_t budget, Effort& effort) {
  if (is_exact()) return climb(budget);
  if (!options_.hint.empty()) keep(search_.with_end(options_.hint), 0);
  constexpr double kShareOfTime = 0.3;
  if (budget >= order_bound_ && !search_.is_proven(word_of(*known(budget)), budget))
    search_orders(kShareOfTime * effort.seconds_left());
  keep(search_.best_eviction(budget), 0);
  peel(word_of(*known(budget)), 0, budget);
  const Word start = word_of(*known(budget));
  if (!search_.is_proven(start, budget))
    keep(search_.anneal(budget, start, options_.seed, effort), 0);
}

}  // namespace tenure::planner::remat
