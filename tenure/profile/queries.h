#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tenure/profile/arenas.h"
#include "tenure/profile/growth.h"
#include "tenure/profile/history.h"

// What can be asked of a recording. Every function reads a History and changes nothing.
// endings() is in queries_lives.cpp, growth() in growth.h.

namespace tenure::profile {

/// Live bytes at one moment.
struct Level {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
  std::array<std::int64_t, kKinds> category{};  ///< by kind: see arenas.h
};
/// The highest level within each of `points` equal parts of the time that is known, and what was
/// live then. Where it is the same for a while, as when a compiled program runs, the moment is the
/// one at which most of the largest arena is in use. Of all devices together, or of one.
std::vector<Level> timeline(const History& history, int points = 200,
                            std::optional<Device> device = {});
/// The moment at which most was live; the first of several, but for arenas as above.
Level peak(const History& history, std::optional<Device> device = {});

/// One device's part.
struct DeviceLevel {
  Device device = cpu;
  std::int64_t peak = 0;    ///< its own, whenever that was
  std::int64_t at_end = 0;  ///< live at the end
  // When most of the device's memory was taken, of all moments at which the device was asked.
  std::int64_t reserved = 0;  ///< by its pool
  std::int64_t outside = 0;   ///< by others
  std::int64_t total = 0;     ///< what the device has; 0: it does not say
};
/// Of each device that occurs. What was there before and is of no storage counts as the CPU's.
std::vector<DeviceLevel> by_device(const History& history);

/// What lines are grouped by. What lies in an arena counts as what it is.
enum class GroupBy { op, line, scope, category, device, calls };
/// Storages with something in common.
struct Group {
  std::string name;
  std::int64_t bytes = 0;
  std::int64_t storages = 0;
};
/// What was live at a moment, the largest first; of all devices, or of one.
std::vector<Group> live_at(const History& history, std::int64_t time_ns, GroupBy by,
                           std::optional<Device> device = {});

/// A storage that is live at the end, and who holds it. Largest first.
struct Held {
  const StorageLife* storage = nullptr;
  std::vector<const LiveHolder*> holders{};  ///< none: a buffer of the library's own
};
std::vector<Held> held_at_end(const History& history);
/// "variable w, made by normal at train.cpp:12".
std::string to_string(const LiveHolder& holder, const Recorded& recorded);

/// How the storages of one place ended, and how long they lay idle before.
struct Ending {
  std::uint32_t origin = 0;
  std::int64_t storages = 0;
  std::int64_t bytes = 0;
  double idle_seconds = 0;       ///< from the last use to the end, the longest
  double idle_byte_seconds = 0;  ///< bytes times time, of all
};
struct Endings {
  std::vector<Ending> late;   ///< freed long after their last use; the most byte-seconds first
  std::vector<Ending> never;  ///< live at the end; the most bytes first
  /// Disposed while others held the data, which therefore stayed: `storages` counts these.
  std::vector<Ending> early;
  /// The peak if everything had been freed after its last use.
  std::int64_t least_peak = 0;
};
Endings endings(const History& history);

/// Predicted against measured.
struct MeasuredPlan {
  const RecordedPlan* plan = nullptr;
  PlanRuns runs{};
};
std::vector<MeasuredPlan> plans(const History& history);

/// What a budget of `limit` bytes would have done.
struct BudgetEffect {
  bool fits = true;
  std::int64_t limit = 0;
  std::int64_t over = 0;                 ///< by how much the peak passes it; negative: what is left
  const StorageLife* refused = nullptr;  ///< the first allocation that it refuses
  double seconds_above = 0;
};
BudgetEffect with_budget(const History& history, std::int64_t limit);

/// One place in two recordings.
struct Change {
  std::string name;
  std::int64_t before = 0;  ///< bytes at the peak
  std::int64_t after = 0;
  std::int64_t allocations_before = 0;
  std::int64_t allocations_after = 0;
};
struct Difference {
  std::int64_t peak_before = 0;
  std::int64_t peak_after = 0;
  std::int64_t allocated_before = 0;  ///< bytes of all allocations
  std::int64_t allocated_after = 0;
  std::int64_t live_before = 0;  ///< at the end
  std::int64_t live_after = 0;
  std::vector<Change> changes{};  ///< the largest change first; places that are alike are left out
};
Difference difference(const History& before, const History& after, GroupBy by = GroupBy::line);

/// Names the group of something.
std::string group_of(const History& history, const Piece& piece, GroupBy by);
/// Bytes live at the end.
std::int64_t live_at_end(const History& history);

}  // namespace tenure::profile
