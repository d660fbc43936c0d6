#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::graph {

/// Where a buffer's first byte lies: `offset` bytes after a base that a run knows.
struct Place {
  int base = 0;
  std::int64_t offset = 0;
  friend bool operator==(const Place&, const Place&) = default;
};

/// The bases of a program, in this order: the arena, inputs, sources, numbers, outputs.
struct Bases {
  explicit Bases(const Lowered& lowered);
  int arena = 0;
  int input;
  int source;
  int number;
  int output;
  int end;
};

/// The order in which units run, and where everything lies.
struct Placement {
  std::vector<int> order{};         ///< of units
  std::vector<Place> buffers{};     ///< of each buffer
  std::vector<Place> workspaces{};  ///< of each unit
  std::int64_t arena = 0;           ///< bytes
  /// Per output: the reusable buffer whose memory it takes over; -1: it has its own. A variable's
  /// only if nobody else holds that when the run begins; everything is right either way.
  std::vector<int> reused{};
  std::vector<std::int64_t> live{};  ///< per step: bytes of results and workspace that are in use
};

/// Orders the units for a low peak, lets units compute in the memory of what they are the last to
/// read and of what was there before and ends with the run, and packs the arena.
Placement place(const Lowered& lowered);
/// The same for units that run in the order in which they stand.
Placement place_in_order(const Lowered& lowered);
/// What a run adds to the memory that is in use: the arena, and outputs in memory of their own.
std::int64_t peak_of(const Lowered& lowered, const Placement& placement);

/// The first thing that is wrong with a placement, or nothing. It runs the program without its
/// kernels, and looks whether each unit still finds what was written for it. In
/// placement_validate.cpp, apart from what it judges.
std::optional<std::string> validate(const Lowered& lowered, const Placement& placement);

}  // namespace tenure::graph
