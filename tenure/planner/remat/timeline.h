#pragma once

#include <cstdint>
#include <vector>

#include "tenure/planner/remat/problem.h"

namespace tenure::planner::remat {

// Note: words
//
// A schedule with rematerialization is a word: the nodes in the order in which they are computed,
// some of them several times. Nothing else needs to be said. A step reads the latest results before
// it, and a result lives from its step to the last read before the node is computed again:
//
//   step        0 1 2 3 4 5 6          a is computed at 0 and 4, read at 1 and 5
//   node        a b c d a e f
//   a in memory x x . . x x .
//
// A touch of a node is a step that computes or reads it. Inserting `a` before step 4 shortens a's
// life to its touch before, and stretches a's inputs from their touches before; all ranges end
// where the step went in, so the memory of a changed word is known from a few ranges of the old
// one.

/// A word with the memory of each step, kept up to date under insertion and removal of steps.
class Timeline {
 public:
  /// `word` must be valid and end in `problem.end`.
  Timeline(const Problem& problem, std::int64_t budget, const std::vector<int>& word);

  int size() const { return static_cast<int>(steps_.size()); }
  int node_at(int position) const { return node_of_[steps_[position]]; }
  int times_computed(int node) const { return computed_[node]; }
  /// The nodes that are computed more than once, in no order.
  const std::vector<int>& repeated() const { return repeated_; }
  /// The position of the `which`-th computation of a node.
  int computation(int node, int which) const;
  std::int64_t cost() const { return cost_; }
  /// Bytes above the budget, summed over the steps.
  std::int64_t excess() const { return excess_; }
  /// The memory of all steps, summed.
  std::int64_t area() const { return area_; }
  std::int64_t peak() const;
  /// The first step that needs the most memory.
  int peak_position() const;
  std::vector<int> word() const;

  /// The last step before `position` that touches `node`; -1 if there is none.
  int touch_before(int node, int position) const;
  /// The first step from `position` on that touches `node`; size() if there is none.
  int touch_from(int node, int position) const;
  int first_touch(int node) const { return position_[touches_[node].front()]; }
  /// Whether the result of the step is read.
  bool is_read(int position) const;
  /// Whether `node` is in memory when the step begins.
  bool lives_at(int node, int position) const;

  /// Whether computing `node` before the step would give a result that is read and was not made
  /// just before.
  bool is_useful(int node, int position) const;
  /// By how much insert() or erase() would change excess(). Nothing is changed in the end.
  std::int64_t excess_if_inserted(int node, int position);
  std::int64_t excess_if_erased(int position);

  /// Computes `node` before the step at `position`.
  void insert(int node, int position);
  /// Inverse of insert(). The word may lack a node's first computation between two calls: then its
  /// result counts as alive from the beginning.
  void erase(int position);

 private:
  /// From `start` to the step in question, `bytes` more are alive.
  struct Range {
    int start;
    std::int64_t bytes;
  };

  int index_from(int node, int position) const;
  bool computes(int node, int index) const { return node_of_[touches_[node][index]] == node; }
  bool dies_after(int node, int index) const;
  void add_range(int start, std::int64_t bytes);
  void ranges_of_insertion(int node, int position);
  void ranges_of_removal(int position);
  std::int64_t memory_if_inserted(int node, int position) const;
  std::int64_t excess_of_ranges(int end) const;
  void apply_ranges(int end);
  void count(int node, int change);
  void renumber_from(int position);
  void refresh_overwrite(int position);
  void refresh_overwrites_before(int node, int position);
  std::int64_t above(std::int64_t memory) const { return memory > budget_ ? memory - budget_ : 0; }

  const Problem& problem_;
  std::int64_t budget_;
  std::int64_t cost_ = 0;
  std::int64_t excess_ = 0;
  std::int64_t area_ = 0;
  std::vector<int> steps_;                 // by position
  std::vector<std::int64_t> memory_;       // by position
  std::vector<int> node_of_;               // by step
  std::vector<int> position_;              // by step
  std::vector<char> overwrites_;           // by step: it computes in the memory of an input
  std::vector<int> spare_;                 // steps that are not in the word
  std::vector<std::vector<int>> touches_;  // by node: steps in the order of the word
  std::vector<int> computed_;              // by node
  std::vector<int> repeated_;
  std::vector<int> place_;     // by node: in repeated_, if it is there
  std::vector<Range> ranges_;  // of the change in question, by start
};

}  // namespace tenure::planner::remat
