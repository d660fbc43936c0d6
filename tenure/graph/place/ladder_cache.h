#pragma once

#include <functional>
#include <memory>

#include "tenure/graph/place/ladder.h"

namespace tenure::graph {

/// Makes the ladder of a level from that of the level before (null before level 0).
using MakeLadder =
    std::function<std::shared_ptr<const Ladder>(std::shared_ptr<const Ladder>, int level)>;

/// The last of `levels` ladders of a program. Those of programs that are planned again are made
/// once: a plan that is refused is asked for again with more, and several functions, trainers and
/// tests have the same step. Programs are the same if all is that placements depend on. Bounded in
/// bytes; the least recently used go first.
std::shared_ptr<const Ladder> cached_ladder(const Lowered& lowered, int levels,
                                            const MakeLadder& make);

/// Ladders that this process has made.
std::int64_t ladders_made() noexcept;

}  // namespace tenure::graph
