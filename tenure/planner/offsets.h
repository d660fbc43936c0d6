#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tenure/base/error.h"

namespace tenure::planner {

/// A while in which only a part of a buffer, or nothing of it, is needed.
struct Gap {
  std::int64_t lower = 0;   ///< from here
  std::int64_t upper = 0;   ///< to just before here
  std::int64_t bottom = 0;  ///< the part, from the buffer's beginning
  std::int64_t top = 0;     ///< to just before here; nothing is needed where both are equal
};

/// Memory that a program needs for a while.
struct Buffer {
  std::int64_t size = 0;
  std::int64_t lower = 0;      ///< alive from here
  std::int64_t upper = 0;      ///< to just before here; nothing is alive where both are equal
  std::int64_t alignment = 1;  ///< of its offset; a power of two
  std::optional<std::int64_t> offset{};  ///< where it must lie
  /// Buffers of one group (an in-place pair, a tensor and its views) share one piece of memory: it
  /// has the size of the largest and is held from the first beginning to the last end, and all of
  /// them begin where it begins. -1: none.
  int group = -1;
  /// What others may use meanwhile. They lie in the buffer's lifetime, and no two at the same time;
  /// those of a group's buffers are gaps of the group's memory.
  std::vector<Gap> gaps{};
};

/// A buffer is named by its index.
struct OffsetProblem {
  std::vector<Buffer> buffers;
};

/// How long to look for a lower height. Without a deadline, equal options give equal plans.
struct OffsetOptions {
  double deadline = std::numeric_limits<double>::infinity();  ///< in seconds from the call
  std::int64_t steps = 4'000'000;  ///< of search; about a microsecond each
  std::uint64_t seed = 0;
  int threads = 0;  ///< 0: as many CPUs as there are for us; the plan does not depend on it
  std::int64_t capacity = 0;  ///< a height that is good enough; 0: only the least is
};

/// Where every buffer lies.
struct OffsetPlan {
  std::vector<std::int64_t> offsets{};  ///< one per buffer
  std::int64_t height = 0;              ///< the arena's size
  std::int64_t lower_bound = 0;         ///< no plan is lower than this
  /// A time at which what is alive needs `lower_bound`. None where the bound has another reason: a
  /// given offset, or a search that tried everything below.
  std::optional<std::int64_t> witness{};
  std::int64_t steps = 0;  ///< of search that were taken

  /// The height is proven to be the least.
  bool optimal() const { return height == lower_bound; }
};

/// What is wrong with one buffer of a problem.
class BufferError : public ValueError {
 public:
  BufferError(std::size_t buffer, const std::string& problem);
  std::size_t buffer() const { return buffer_; }

 private:
  std::size_t buffer_;
};

/// Throws BufferError for what solve() refuses in a problem.
void check(const OffsetProblem& problem);

/// Gives every buffer an offset such that no two overlap in memory while both are alive, and looks
/// for the least height. It is never above best fit by size, by area and by lifetime, as far as
/// there are steps for them, n^2 / 4096 each. It counts in multiples of the least alignment: where
/// sizes are none, up to that many bytes of the topmost buffer may be missed, and the bound says
/// so. Throws BufferError for negative sizes, sizes whose sum overflows,
/// lifetimes that end before they begin, alignments that are no power of two, gaps outside of the
/// buffer or in each other's way, and given offsets that are negative, misaligned or in each
/// other's way. In offsets/solve.cpp.
OffsetPlan solve(const OffsetProblem& problem, const OffsetOptions& options = {});

/// The first thing that is wrong with a plan, or nothing. It walks through time with all that is
/// alive, and shares no code with the solver. In offsets/validate.cpp.
std::optional<std::string> validate(const OffsetProblem& problem, const OffsetPlan& plan);

}  // namespace tenure::planner
