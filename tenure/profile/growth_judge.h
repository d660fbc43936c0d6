#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tenure/profile/file.h"
#include "tenure/profile/growth.h"

namespace tenure::profile {

/// Where to look: at marks, or between moments.
struct Marks {
  bool is_marked = true;
  std::vector<std::int64_t> times;
  /// Only what this thread allocated, judged when it did so last. As it may have filled a table,
  /// that counts only if all of it is there at the end and nobody has used any of it since.
  std::optional<ThreadNumber> thread{};

  std::size_t size() const { return is_marked ? times.size() : times.size() - 1; }
  std::int64_t last() const { return times.back(); }
};

/// The lines that hold more and more from mark to mark, most bytes first; their `since_step` counts
/// from the first of the marks.
std::vector<Growth> growing_lines(const History& history, const Marks& marks);

}  // namespace tenure::profile
