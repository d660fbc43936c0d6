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
  std::vector<int> word{};       ///< its units as they are computed; see repeat_units
  Placement placement{};         ///< of the program that the word makes, in that order
  std::int64_t peak = 0;         ///< see peak_of
  std::int64_t repetitions = 0;  ///< their cost, in nanoseconds of a usual machine
};

struct Ladder {
  /// From the lowest peak to the highest. Each one's repetitions cost less than those of the one
  /// before; the last has none.
  std::vector<Rung> rungs{};
  std::int64_t cost = 0;  ///< of each unit once
};

/// The ladder of a program. `effort` is how long to look for it, at least 1: a program of a hundred
/// units takes about a second with 1, and up to twice n times as long with n. The ladder of a
/// higher effort has a rung as good for each one of a lower effort's. Nothing else counts: a
/// program has the same ladder in every process. Those made last are kept, for programs that are
/// alike.
std::shared_ptr<const Ladder> ladder_of(const Lowered& lowered, int effort);

/// The arrangement without repetitions that place() gives.
Rung plain_rung(const Lowered& lowered);

}  // namespace tenure::graph
