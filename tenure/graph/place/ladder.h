#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "tenure/graph/place/placement.h"

// Note: ladders
//
// Which budgets a program can be held to, and at what cost, must not depend on which budget is
// asked for: otherwise a budget that one call names is refused by the next, and a larger one may
// cost more than a smaller one. So all that is known of a program is found out at once and written
// down: a ladder of complete arrangements, order and offsets, whose peaks are counted after
// everything has got its place. Whoever has a budget takes the highest rung that fits; if even the
// lowest does not, its peak is the least budget that is known to suffice.

namespace tenure::graph {

/// A complete arrangement of a program.
struct Rung {
  std::vector<int> word{};          ///< its units as they are computed; see repeat_units
  std::vector<PartGroup> groups{};  ///< of those, which run in parts; see split_units
  Placement placement{};            ///< of the program that both make, in that order
  std::int64_t peak = 0;            ///< see peak_of
  /// The cost of repetitions and parts, in nanoseconds of a usual machine.
  std::int64_t added = 0;
};

struct Ladder {
  /// From the lowest peak to the highest. Each one adds less cost than the one before; the last has
  /// no repetitions and no parts.
  std::vector<Rung> rungs{};
  std::int64_t cost = 0;  ///< of each unit once
};

/// The ladder of a program. `effort` is how long to look for it, at least 1: a program of a hundred
/// units takes about a second with 1, and up to twice n times as long with n. The ladder of a
/// higher effort has a rung as good for each one of a lower effort's. Nothing else counts: a
/// program has the same ladder in every process. Those made last are kept, for programs that are
/// alike.
std::shared_ptr<const Ladder> ladder_of(const Lowered& lowered, int effort);

/// The first rungs of a program's ladder, which are there without a search: see renew.h. `plain` is
/// what place() gives.
std::shared_ptr<Ladder> quick_ladder(const Lowered& lowered, Placement plain);

/// The arrangement without repetitions that place() gives.
Rung plain_rung(const Lowered& lowered, Placement placed);

/// The program as a rung computes it.
std::unique_ptr<Lowered> program_of(const Lowered& lowered, const Rung& rung);

}  // namespace tenure::graph
