#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/profile/history.h"

// What a recording says of limits: budgets, what was refused, and pools with their segments, which
// are in pools.cpp.

namespace tenure::profile {

/// What a budget was used for.
struct BudgetUse {
  std::uint32_t number = 0;  ///< its place in History::budgets, from 1 up
  std::int64_t peak = 0;     ///< the most that was charged to it while it limited
  std::int64_t peak_ns = 0;
  std::int64_t refusals = 0;
};
/// Of all budgets: those that refused most first, then by the part of the limit that was used.
std::vector<BudgetUse> budget_uses(const History& history);

/// Budgets that are alike (name, limit, device, and what is around them), as a loop makes one in
/// each iteration.
struct BudgetGroup {
  std::vector<std::uint32_t> numbers{};  ///< of all, by time
  std::int64_t refusals = 0;             ///< of all
  BudgetUse most{};                      ///< of the one that was used most
  bool have_ended = true;                ///< all of them
};
/// In the order of budget_uses(). Those that had ended when history begins are left out.
std::vector<BudgetGroup> budget_groups(const History& history);

struct Charged {
  std::int64_t time_ns = 0;
  std::int64_t bytes = 0;
};
/// What was charged to a budget, itself or through one inside it, at each change of it; of several
/// to that which had most just then.
std::vector<Charged> charged_to(const History& history, std::span<const std::uint32_t> numbers);
inline std::vector<Charged> charged_to(const History& history, std::uint32_t number) {
  return charged_to(history, std::span(&number, 1));
}
/// Whether a storage counts in a budget.
bool counts_in(const History& history, const StorageLife& life, std::uint32_t number);

/// Lines that held what was live when something was refused: what counts in the budget that
/// refused, or lies on the device that had no more.
struct RefusalHolder {
  std::uint32_t origin = 0;
  std::int64_t bytes = 0;
  std::int64_t storages = 0;
};
/// The most bytes first.
std::vector<RefusalHolder> holders_at(const History& history, const RefusalSeen& refusal);

/// A pool's state: at each moment at which a segment came or went, and in each of `points` parts of
/// the time when it was fragmented most. Exact, of recordings that have segments; older ones have
/// samples. Small blocks are cut from slabs: what is free within those is not free here.
std::vector<PoolSample> pool_levels(const History& history, Device device, int points = 500);

/// How full one segment was at a moment, and of what.
struct SegmentUse {
  const PoolPartLife* segment = nullptr;
  std::int64_t used = 0;          ///< by storages of their own and slabs
  std::int64_t slabs = 0;         ///< bytes of these that are slabs
  std::int64_t small = 0;         ///< bytes of storages within slabs
  std::int64_t largest_hole = 0;  ///< bytes
  struct By {
    std::uint32_t origin = 0;
    std::int64_t bytes = 0;
  };
  std::vector<By> by{};  ///< the lines that hold most of it, the most first
};
/// The segments of a pool at a moment, by address.
std::vector<SegmentUse> segments_at(const History& history, Device device, std::int64_t time_ns);

}  // namespace tenure::profile
