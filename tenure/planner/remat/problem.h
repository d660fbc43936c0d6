#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/planner/dag.h"

namespace tenure::planner::remat {

/// A Dag as the search reads it: flat arrays, and one more node, `end`, which stands last in every
/// word and reads the outputs, so that nothing else has to know about them.
struct Problem {
  enum class Unit { byte, scaled };
  explicit Problem(const Dag& dag, Unit unit = Unit::scaled);

  std::span<const int> inputs(int node) const {
    return {input_list.data() + input_start[node], input_list.data() + input_start[node + 1]};
  }

  /// A budget in the problem's unit of memory.
  std::int64_t scaled(std::int64_t budget) const { return budget >> shift; }

  int end = 0;  ///< also the number of the Dag's nodes
  std::vector<std::int64_t> bytes;
  std::vector<std::int64_t> own;  ///< what a step adds to what lives across it: bytes + workspace
  std::vector<std::int64_t> cost;
  std::vector<std::uint32_t> overwrites;
  std::vector<char> pure;
  std::int64_t resident = 0;
  std::int64_t base_cost = 0;
  std::int64_t total_bytes = 0;
  bool any_overwrites = false;
  /// Unless asked for in bytes, sizes are rounded up to multiples of 2^shift and counted in them,
  /// so that sums over a whole word stay within 64 bits. It is 0 unless the program is absurdly
  /// large.
  int shift = 0;

 private:
  std::vector<int> input_start;
  std::vector<int> input_list;
};

/// Words longer than this many times the number of nodes are not looked at.
inline constexpr std::int64_t kLongestWord = 64;

}  // namespace tenure::planner::remat
