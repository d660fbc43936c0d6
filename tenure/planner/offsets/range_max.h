#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::offsets {

/// The floors of all sections, where every change lifts a range above all that was in it.
class RangeMax {
 public:
  explicit RangeMax(int sections)
      : size_(static_cast<int>(std::bit_ceil(static_cast<unsigned>(std::max(sections, 1))))),
        highest_(static_cast<std::size_t>(2 * size_), 0),
        whole_(static_cast<std::size_t>(2 * size_), 0) {}

  Units highest(int begin, int end) const { return highest(1, 0, size_, begin, end); }
  void lift(int begin, int end, Units level) { lift(1, 0, size_, begin, end, level); }

 private:
  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  // highest_: in the node's range; whole_: what was put on all of it. Levels only rise, so that
  // neither has to be pushed down.
  Units highest(int node, int low, int high, int begin, int end) const {
    if (begin <= low && high <= end) return highest_[at(node)];
    const int middle = low + (high - low) / 2;
    Units level = whole_[at(node)];
    if (begin < middle) level = std::max(level, highest(2 * node, low, middle, begin, end));
    if (middle < end) level = std::max(level, highest(2 * node + 1, middle, high, begin, end));
    return level;
  }

  void lift(int node, int low, int high, int begin, int end, Units level) {
    highest_[at(node)] = std::max(highest_[at(node)], level);
    if (begin <= low && high <= end) {
      whole_[at(node)] = std::max(whole_[at(node)], level);
      return;
    }
    const int middle = low + (high - low) / 2;
    if (begin < middle) lift(2 * node, low, middle, begin, end, level);
    if (middle < end) lift(2 * node + 1, middle, high, begin, end, level);
  }

  int size_;
  std::vector<Units> highest_;
  std::vector<Units> whole_;
};

}  // namespace tenure::planner::offsets
