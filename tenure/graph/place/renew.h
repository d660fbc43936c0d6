#pragma once

#include <cstdint>
#include <optional>

#include "tenure/graph/place/ladder.h"

namespace tenure::graph {

// Note: what need not be kept
//
// Many a result of a loop waits for the way back although all that it was made of waits too: an
// activation, whose gradient reads the input and the next layer's the output. To make it again then
// takes one pass over memory and nothing of a product's time. So it is dropped while the program
// holds the most, and made again where it is read next, from what is held anyway.

/// The share of a program's time, as it is estimated, up to which nothing is searched for.
inline constexpr double kNearlyFree = 0.01;

/// An arrangement that makes results of loops again and is well below the plain one, at a cost of
/// up to kNearlyFree. Nothing if there is none. It depends on the program and the plain arrangement
/// alone, and is found without a search: in a few passes over the program.
std::optional<Rung> renewed_rung(const Lowered& lowered, const Rung& plain);

}  // namespace tenure::graph
