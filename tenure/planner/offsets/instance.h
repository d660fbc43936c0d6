#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tenure/planner/offsets.h"

namespace tenure::planner::offsets {

/// Bytes divided by what divides every size, so that the search sees small numbers.
using Units = std::int64_t;

inline constexpr Units kUnreachable = Units{1} << 62;
inline constexpr Units kAnywhere = -1;

/// A buffer, or a group of them, as the solvers see it.
///
/// Note: sections. Time is cut where a buffer ends after another began. What is alive in one
/// section is alive together, any two buffers that meet do so in some section, and no section is
/// contained in another; all that happens between two cuts is one column.
struct Block {
  Units size = 0;
  Units alignment = 1;
  Units fixed = kAnywhere;  ///< the offset that it must have
  int begin = 0;            ///< its first section
  int end = 0;              ///< one past its last section

  bool meets(const Block& other) const { return begin < other.end && other.begin < end; }
  /// The least offset that it may have at or above `level`.
  Units offset_from(Units level) const {
    if (fixed != kAnywhere) return level <= fixed ? fixed : kUnreachable;
    return (level + alignment - 1) & -alignment;
  }
};

/// What a block with gaps needs in some of its sections, from its offset.
struct Solid {
  int begin = 0;
  int end = 0;
  Units bottom = 0;
  Units top = 0;
};

/// A part of a problem that no buffer connects to another part. Blocks are in order of `begin`.
struct Instance {
  std::vector<Block> blocks;
  std::vector<int> ids;  ///< of each block, among all blocks of the problem
  /// Of each block, if any has gaps; then a block is the hull of these.
  std::vector<std::vector<Solid>> shapes;
  int sections = 0;
  Units bound = 0;  ///< the largest sum of sizes in a section, or the highest fixed end
};

/// A whole problem made ready to be solved.
struct Prepared {
  std::vector<int> block_of;  ///< for each buffer; -1: it needs no memory
  std::vector<Instance> parts;
  Units unit = 1;                     ///< bytes
  std::int64_t padding = 0;           ///< bytes of a block's last unit that may lie unused on top
  std::vector<std::int64_t> offsets;  ///< of each block, in bytes: the given one, or 0
  std::int64_t lower_bound = 0;       ///< in bytes; for `witness` see OffsetPlan
  std::optional<std::int64_t> witness{};
};

/// Throws ValueError for what solve() refuses, except colliding offsets. In
/// check.cpp.
void check(const OffsetProblem& problem);

/// `problem` has passed check(). Throws ValueError for groups that contradict themselves. In
/// prepare.cpp.
Prepared prepare(const OffsetProblem& problem);

/// Throws ValueError where two blocks with given offsets overlap, naming a buffer of each.
void check_fixed(const OffsetProblem& problem, const Prepared& prepared);

/// The same instance with all gaps filled: what is legal for it is legal.
Instance without_gaps(const Instance& instance);

/// The offsets' height, in units.
Units height_of(const Instance& instance, const std::vector<Units>& offsets);

}  // namespace tenure::planner::offsets
