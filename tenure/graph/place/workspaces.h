#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tenure/graph/place/placement.h"

// What a program needs at least must not depend on the threads that it happens to get. Our kernels
// take the same room whatever their number is; others may take room for each. Those are arranged
// for one thread, and what is free beside that goes to more.

namespace tenure::graph {

struct Workspace {
  std::size_t bytes = 0;
  int threads = kAnyThreads;
};

/// Gives every kernel the workspace of one thread. Returns what the units had before.
std::vector<Workspace> narrow_workspaces(Lowered& lowered);
/// Gives the units what they had.
void restore_workspaces(Lowered& lowered, const std::vector<Workspace>& workspaces);

/// Gives every kernel the workspace of as many threads, up to `threads`, as its step has room for
/// in an arena of at most `arena` bytes, above all that lies there. The arena grows as far as that
/// takes, nothing else moves.
void widen_workspaces(Lowered& lowered, Placement& placement, int threads, std::int64_t arena);

}  // namespace tenure::graph
