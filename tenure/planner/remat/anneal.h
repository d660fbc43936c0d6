#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/effort.h"
#include "tenure/planner/remat/problem.h"
#include "tenure/planner/remat/split_mix.h"
#include "tenure/planner/remat/timeline.h"

namespace tenure::planner::remat {

/// How a walk begins and ends. Temperatures are in mean costs of a node.
struct Cooling {
  double hot = 1;
  double cold = 0.01;
  /// The price of one byte above the budget at one step, in mean costs of a byte.
  double excess_price = 1;
  /// Rebuilding takes a hundred times as long as other moves; how much of it is good differs.
  int percent_rebuilds = 3;
};

/// Simulated annealing over words: recompute more, recompute less, elsewhere, or in another way.
class Annealer {
 public:
  Annealer(const Problem& problem, std::int64_t budget, std::uint64_t seed);

  /// Walks from `word` for `moves` moves or until `effort` is spent. Afterwards best() is the
  /// cheapest word within the budget that any walk has seen.
  void walk(const std::vector<int>& word, const Cooling& cooling, std::int64_t moves,
            Effort& effort);

  /// Empty if no word within the budget was seen.
  const std::vector<int>& best() const { return best_; }
  std::int64_t best_cost() const { return best_cost_; }

 private:
  struct Edit {
    bool inserted;
    int node;
    int position;
  };

  void move();
  /// Computes a node once more, before one of its readers or earlier.
  void recompute_one();
  /// Takes a repeated computation out, and what served it alone.
  void forget();
  /// Puts a computation elsewhere, rather where less memory is held. The first ones move too: their
  /// order is free.
  void shift();
  /// Forgets one and recomputes another, where the one's memory is the other's.
  void exchange();
  /// Changes something and repairs the rest: relieves the peaks it made, forgets what then fits.
  /// One large result against many small ones is out of reach for the other moves.
  void rebuild();
  /// Recomputes the cheapest for its bytes of some random nodes that live across the peak.
  bool relieve_peak();
  void forget_what_fits();

  /// A random step that the word can do without, or -1.
  int pick_repetition();
  bool may_recompute(int node, int position) const;
  void insert(int node, int position);
  void erase(int position);
  void insert_chain(int node, int position, int percent);
  void drop(int position);
  bool acceptable(std::int64_t cost, std::int64_t excess) const;
  void settle();
  void note_best();

  const Problem& problem_;
  std::int64_t budget_;
  SplitMix random_;
  Timeline* line_ = nullptr;
  double threshold_ = 0;   // how much worse the next change may be
  double price_ = 0;       // of a byte above the budget at one step
  double mean_cost_ = 0;   // of a node
  double mean_price_ = 0;  // of a byte
  int percent_rebuilds_ = 0;
  std::int64_t cost_before_ = 0;
  std::int64_t excess_before_ = 0;
  std::vector<Edit> edits_;
  std::vector<int> pending_;
  std::vector<int> best_;
  std::int64_t best_cost_;
};

}  // namespace tenure::planner::remat
