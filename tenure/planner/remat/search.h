#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tenure/planner/remat.h"
#include "tenure/planner/remat/anneal.h"
#include "tenure/planner/remat/bound.h"
#include "tenure/planner/remat/problem.h"

namespace tenure::planner::remat {

/// Looks for cheap words of one program within one budget at a time.
class WordSearch {
 public:
  using Word = std::vector<int>;

  /// `clock` ends all that may end early; `options` and it must live as long as this. Throws
  /// ValueError for a given order that is none.
  WordSearch(const Dag& dag, const RematOptions& options, const Effort& clock);

  /// Sizes in bytes, and in what words are looked for in.
  const Problem& in_bytes() const { return in_bytes_; }
  const Problem& scaled() const { return problem_; }
  const CostBound& cost_bound() const { return cost_bound_; }

  /// The orders to begin with: the given one, and a better one, if that is known.
  const std::vector<Word>& orders() const { return orders_; }
  void add_order(Word order);

  /// The given order with the end appended; one of our own if there is none.
  Word with_end(const std::vector<int>& given) const;
  bool is_proven(const Word& word, std::int64_t budget) const;

  /// A word within the budget, whatever it costs, or none.
  Word lean(std::int64_t budget, const Word& start) const;
  /// A word that takes next to no time to find; empty if that fails.
  Word quick(std::int64_t budget) const;
  /// The cheapest of some quick words; empty if none is within the budget.
  Word best_eviction(std::int64_t budget) const;
  /// The cheapest word that some moves lead to from `start`, which is within the budget.
  Word anneal(std::int64_t budget, const Word& start, std::uint64_t seed, Effort& effort) const;
  /// The same in so many moves, which are at least enough for one walk.
  Word anneal(std::int64_t budget, const Word& start, std::uint64_t seed, std::int64_t moves) const;

  /// What a walk needs to have cooled down.
  std::int64_t moves_per_round() const;

 private:
  Word anneal_briefly(std::int64_t budget, const Word& start, std::int64_t moves,
                      std::uint64_t seed) const;
  /// Returns to the annealer's best word until that helped no more `patience` times in a row.
  void refine(Annealer& annealer, const Word& start, std::int64_t moves, int patience,
              SplitMix& random, Effort& effort) const;

  const RematOptions& options_;
  const Effort& clock_;
  Problem problem_;
  Problem in_bytes_;
  CostBound cost_bound_;
  std::vector<Word> orders_;
};

}  // namespace tenure::planner::remat
