#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tenure/graph/passes/unit.h"

// Note: units in parts
//
// What a unit reads and makes has its bytes all at once, however little of it is needed at a time.
// A group of units runs in parts: each part has a piece of the first axis, of the batch mostly, and
// what the units of the group hand to each other is there for one part at a time. What comes from
// before the group is read piece by piece, what is read after it is filled piece by piece, and a
// kernel that sums over the axis goes on from what it has. Only ops whose records say that this
// gives the same bits take part (ops::Parts), so results do not depend on it.
//
// A buffer is cut where its first axis is the outermost in memory: a piece is a range of its bytes.

namespace tenure::graph {

/// How a unit runs in parts.
struct UnitCut {
  std::vector<bool> in{};   ///< per input: cut along its first axis; else each part reads all of it
  std::vector<bool> out{};  ///< the same of its results; else they are sums
};

/// Nothing if it cannot run in so many parts.
std::optional<UnitCut> cut_of(const Unit& unit, int parts);

/// The unit as its first part, which finds its pieces where the whole begins.
Unit first_part(const Unit& unit, const UnitCut& cut, int parts);

/// In how many parts a unit may run, at least 2 each, ascending and not very many.
std::vector<int> part_counts(const Unit& unit);

/// Finds out which units can run in parts together.
class GroupBuilder {
 public:
  GroupBuilder(const Lowered& lowered, int parts)
      : lowered_(lowered), parts_(parts), written_(lowered.buffers.size(), Written::before) {}

  /// Adds a unit, if it can run in parts and needs of those before it no more than a part.
  bool add(const Unit& unit);
  /// Whether a unit that was added writes what this one reads.
  bool feeds(const Unit& unit) const;

 private:
  enum class Written : std::uint8_t { before, in_pieces, as_sum };

  const Lowered& lowered_;
  int parts_;
  std::vector<Written> written_;  // per buffer
};

/// Whether all units of the group can run in parts together.
bool can_split(const Lowered& lowered, const PartGroup& group);

/// The program with units that run in parts. can_split() of each group, and they do not meet.
std::unique_ptr<Lowered> split_units(const Lowered& lowered, std::vector<PartGroup> groups);

}  // namespace tenure::graph
