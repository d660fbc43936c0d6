#pragma once

#include <cstdint>
#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Buffers that lie in one piece of memory one after the other: each is computed in the memory of
/// the one before, which nobody reads any more.
struct SharedBuffer {
  std::vector<int> buffers{};  ///< that units write, in the order in which they do
  std::int64_t bytes = 0;      ///< of the largest
  int lower = 0;               ///< the step that writes first
  int upper = 0;               ///< just after the last step that reads or writes
  int output = -1;             ///< the program's output that the last buffer is
  /// The buffer that was there before the run and whose memory it takes over; -1: none.
  int reused = -1;
};

/// Which buffers share memory when the units run in this order. Without reuse, what was there
/// before stays.
///
/// What was there before is overwritten only after the last unit that may fail: a run that throws
/// has changed nothing.
std::vector<SharedBuffer> shared_buffers_of(const Lowered& lowered, const std::vector<int>& order,
                                            bool with_reuse);

/// Per step: bytes of what is in use in the arena when the units run in the order in which they
/// stand, with reuse.
std::vector<std::int64_t> live_in_arena(const Lowered& lowered);

}  // namespace tenure::graph
