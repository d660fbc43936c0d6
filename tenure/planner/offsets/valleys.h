#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "tenure/planner/offsets/instance.h"
#include "tenure/planner/offsets/random.h"

namespace tenure::planner::offsets {

/// Fills the lowest valley of the skyline, again and again, in n log n steps. What lies below a
/// fixed block stays empty.
///
/// Note: a block that lies in a valley and covers its first section begins there, and so for the
/// last one. The side with less slack is served first: by the longest block that the valley takes,
/// or, where there is none, by raising the floor to the lower wall as far as nothing begins. The
/// choices that led to sections without slack are made differently in the next pass.
class Valleys {
 public:
  explicit Valleys(const Instance& instance);

  /// Places all blocks. `noise` is how often, from 0 to 1, chance decides instead.
  const std::vector<Units>& pass(double noise, Random& random);

  /// Forgets where earlier passes went wrong.
  void forget();

 private:
  struct Run {
    int next = 0;
    int previous = 0;
    Units floor = 0;
    bool alive = false;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  void reset();
  void set_skyline();
  void fill(int run, double noise, Random& random);
  int join(int run);
  void set(int run, int begin, int end, Units floor);
  int block_at_begin(int begin, int end);
  int block_at_end(int begin, int end);
  int first_begin(int begin, int end) const;
  int last_end(int begin, int end) const;
  void place(int run, int block, Units level);
  Units need(int section) const;
  void add_need(int section, Units size);

  const Instance& instance_;
  Units bound_;

  // Blocks that may lie anywhere, by begin and by end, the longest last; where the ones of each
  // section begin in these lists.
  std::vector<int> by_begin_;
  std::vector<int> by_end_;
  std::vector<int> begin_at_;
  std::vector<int> end_at_;
  std::vector<int> place_by_begin_;
  std::vector<int> place_by_end_;
  std::vector<Units> penalty_;  // by section
  std::vector<Units> base_;     // by section: the highest fixed end

  // Of one pass.
  std::vector<int> skip_begin_;  // union-find: the next unplaced entry at or before this one
  std::vector<int> skip_end_;
  std::vector<int> least_end_;  // trees over by_begin_ and by_end_
  std::vector<int> greatest_begin_;
  int leaves_ = 1;
  std::vector<Run> runs_;  // at its first section
  std::vector<std::pair<Units, int>> heap_;
  std::vector<Units> need_;  // Fenwick tree: sizes still to be placed
  std::vector<Units> offsets_;
};

}  // namespace tenure::planner::offsets
