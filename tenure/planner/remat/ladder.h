#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "tenure/planner/remat.h"
#include "tenure/planner/remat/effort.h"
#include "tenure/planner/remat/search.h"

namespace tenure::planner::remat {

// Note [The ladder]
//
// A search for one budget is lucky or not, so that a larger budget searched on its own may end with
// a dearer plan. Therefore no budget is searched on its own. The program alone says at which
// budgets there are searches, the rungs, from the least budget that is known to do up to the peak
// of the best order, where nothing is computed again:
//
//   least                                                         peak of the best order
//   |..|...|....|.....|......|.......|........|.........|
//   block 0     block 1      b                block 2
//
// Some neighbouring rungs are a block. The first is searched from nothing, each of the others from
// what the one before has found; and from rung to rung plans are made cheaper, one repetition after
// the other, as the room grows. What comes out depends on the rung, the program and the options.
// The answer for a budget is the cheapest plan of all rungs up to it that fits. So whatever is
// found for a smaller budget is found for a larger one too: the cost never rises with the budget,
// in whatever process and order they are asked for. Blocks that a bound proves to hold nothing
// cheaper than what is known are not searched; they would change nothing.
//
// Where schedules are judged by more than their peak, as by the arena that they need, a plan may be
// of use that another one beats. So there are candidates too: where the search began, and what each
// block would keep if it were alone. That depends on nothing that was searched before.

/// Throws ValueError for what check(dag) refuses, and for options that mean nothing.
void check(const Dag& dag, const RematOptions& options);

/// The plans of a program for all budgets.
class Ladder {
 public:
  /// With a clock, all searches after this end when it is spent: then nothing follows from what
  /// they did not find. `dag`, `options` and `clock` must live as long as this.
  Ladder(const Dag& dag, const RematOptions& options, const Effort* clock = nullptr);
  Ladder(const Ladder&) = delete;
  Ladder& operator=(const Ladder&) = delete;

  /// No schedule has a lower peak.
  std::int64_t bound() const { return bound_; }
  /// The plan of lowest peak; what it takes to find it does not depend on the options.
  const RematPlan& least();
  /// What is known at once: orders, and quick plans for less.
  std::span<const Rung> quick() const { return std::span(starts_).first(quick_); }
  /// That of the options, which must have one. Throws ValueError if it is no order.
  RematPlan hint() const { return rung_of(search_.with_end(options_.hint), 0).plan; }
  /// Whether an order does without computing anything again.
  bool fits_plainly(std::int64_t budget) const { return plain_peak_ <= budget; }
  /// Searches the highest of the rungs up to `budget` that were not searched yet, with those of its
  /// block below it. False if there is none that may hold a plan cheaper than `cost`. least() must
  /// have been called.
  bool search_below(std::int64_t budget, std::int64_t cost);
  /// Searches all rungs up to the budget that may make its plan cheaper.
  void climb(std::int64_t budget);
  void climb_all();
  /// Whether the program is so small that every answer is proven; then there are no rungs to
  /// search.
  bool is_exact() const;
  /// Where blocks of rungs end: those of lower rungs first, the last where a plain order does.
  std::vector<std::int64_t> block_ends();
  /// Searches for this budget alone, until the effort is spent.
  void focus(std::int64_t budget, Effort& effort);

  /// The plans in the order of the budgets from which on they are the answer.
  const std::vector<Rung>& rungs() const { return rungs_; }
  /// Those and others, the cheapest first. They hold until the next search.
  std::vector<const Rung*> candidates() const;
  /// The answer for a budget, which must not be below least().peak.
  RematPlan answer(std::int64_t budget) const { return bounded(*known(budget), budget); }
  /// The plan with what is known about cheaper ones within the budget.
  RematPlan bounded(RematPlan plan, std::int64_t budget) const;

 private:
  using Word = std::vector<int>;

  struct Block {
    std::vector<std::int64_t> budgets;  // of its rungs
    std::int64_t end = 0;               // where the next block begins
    std::size_t done = 0;               // rungs that were searched
    Word word;                          // the best of the last one
    std::vector<Rung> rungs;            // the best of all
  };

  Rung rung_of(const Word& word, std::int64_t from) const;
  /// Keeps a word as a plan for budgets from `from` on, if it is of use: for all, and for the block
  /// that has found it.
  void keep(const Word& word, std::int64_t from, Block* block = nullptr);
  void start_with(const Word& word);
  const RematPlan* known(std::int64_t budget) const;
  void find_least();
  void find_quick();
  void set_blocks();
  void share_out();
  void search_rung(Block& block, std::uint64_t seed);
  void search_orders(double seconds);
  /// Makes a word cheaper as far as `limit` bytes allow, one repetition after the other.
  void peel(Word word, std::int64_t from, std::int64_t limit, Block* block = nullptr);
  Word word_of(const RematPlan& plan) const;
  std::int64_t moves_per_rung() const;
  void tell(double share) const;

  const Dag& dag_;
  const RematOptions& options_;
  const Effort forever_{std::numeric_limits<double>::infinity(),
                        std::numeric_limits<std::int64_t>::max()};
  const Effort& clock_;
  WordSearch search_;
  const Problem& problem_;  // these three are of the search
  const Problem& in_bytes_;
  const CostBound& cost_bound_;
  std::int64_t order_bound_ = 0;
  std::int64_t plain_peak_ = 0;  // of the best order
  std::int64_t bound_;
  bool has_least_ = false;
  bool has_searched_orders_ = false;
  RematPlan least_;
  std::vector<Block> blocks_;
  int blocks_of_one_budget_ = 1;  // that a search for it looks into, at most
  std::vector<Rung> rungs_;       // budgets rise, added costs fall
  std::vector<Rung> starts_;      // orders, and the plan of lowest peak
  std::size_t quick_ = 0;         // of those, the first
};

}  // namespace tenure::planner::remat
