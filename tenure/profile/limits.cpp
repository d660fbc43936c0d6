#include "tenure/profile/limits.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace tenure::profile {
namespace {

/// Births and ends of what counts, by time, an end before a birth of the same moment.
template <class Counts>
std::vector<Charged> changes_of(const History& history, const Counts& counts) {
  std::vector<Charged> changes;
  for (const StorageLife& life : history.storages) {
    if (!counts(life)) continue;
    changes.push_back({life.birth_ns, life.bytes});
    if (!life.is_live()) changes.push_back({life.death_ns, -life.bytes});
  }
  std::sort(changes.begin(), changes.end(), [](const Charged& a, const Charged& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.bytes < b.bytes;
  });
  return changes;
}

}  // namespace

bool counts_in(const History& history, const StorageLife& life, std::uint32_t number) {
  const BudgetSeen& budget = history.budgets[number - 1];
  if (budget.is_of_process) return life.device == budget.device;
  std::uint32_t at = life.budget;
  for (std::size_t depth = 0; at != 0 && depth < history.budgets.size(); ++depth) {
    if (at == number) return true;
    at = history.budgets[at - 1].around;
  }
  return false;
}

std::vector<Charged> charged_to(const History& history, std::uint32_t number) {
  const BudgetSeen& budget = history.budgets[number - 1];
  std::vector<Charged> levels = changes_of(
      history, [&](const StorageLife& life) { return counts_in(history, life, number); });
  std::int64_t level = budget.is_of_process && budget.device == cpu ? history.base_bytes : 0;
  for (Charged& one : levels) one.bytes = level += one.bytes;
  return levels;
}

std::vector<BudgetUse> budget_uses(const History& history) {
  std::vector<BudgetUse> uses(history.budgets.size());
  std::vector<std::int64_t> level(uses.size());
  // One walk for all: a storage changes its own budget and those around it.
  struct Change {
    std::int64_t time_ns;
    std::int64_t bytes;
    const StorageLife* life;
  };
  std::vector<Change> changes;
  const bool has_process = std::any_of(history.budgets.begin(), history.budgets.end(),
                                       [](const BudgetSeen& b) { return b.is_of_process; });
  for (const StorageLife& life : history.storages) {
    if (life.budget == 0 && !has_process) continue;
    changes.push_back({life.birth_ns, life.bytes, &life});
    if (!life.is_live()) changes.push_back({life.death_ns, -life.bytes, &life});
  }
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.bytes < b.bytes;
  });
  const auto add = [&](std::size_t i, const Change& change) {
    level[i] += change.bytes;
    const BudgetSeen& budget = history.budgets[i];
    if (change.time_ns < budget.begin_ns || change.time_ns > budget.end_ns) return;
    if (level[i] <= uses[i].peak) return;
    uses[i].peak = level[i];
    uses[i].peak_ns = change.time_ns;
  };
  for (const Change& change : changes) {
    std::uint32_t at = change.life->budget;
    for (std::size_t depth = 0; at != 0 && depth < uses.size(); ++depth) {
      add(at - 1, change);
      at = history.budgets[at - 1].around;
    }
    for (std::size_t i = 0; has_process && i < uses.size(); ++i) {
      const BudgetSeen& budget = history.budgets[i];
      if (budget.is_of_process && budget.device == change.life->device) add(i, change);
    }
  }
  for (std::size_t i = 0; i < uses.size(); ++i) uses[i].number = static_cast<std::uint32_t>(i + 1);
  for (const RefusalSeen& refusal : history.refusals) {
    if (refusal.budget != 0) ++uses[refusal.budget - 1].refusals;
  }
  const auto part = [&](const BudgetUse& use) {
    const std::int64_t limit = history.budgets[use.number - 1].limit;
    return static_cast<double>(use.peak) / static_cast<double>(std::max<std::int64_t>(limit, 1));
  };
  std::stable_sort(uses.begin(), uses.end(), [&](const BudgetUse& a, const BudgetUse& b) {
    return a.refusals != b.refusals ? a.refusals > b.refusals : part(a) > part(b);
  });
  return uses;
}

std::vector<RefusalHolder> holders_at(const History& history, const RefusalSeen& refusal) {
  std::unordered_map<std::uint32_t, RefusalHolder> by_origin;
  for (const StorageLife& life : history.storages) {
    if (life.birth_ns > refusal.time_ns || life.death_ns <= refusal.time_ns) continue;
    const bool counts = refusal.budget == 0 ? life.device == refusal.device
                                            : counts_in(history, life, refusal.budget);
    if (!counts) continue;
    RefusalHolder& holder = by_origin[life.origin];
    holder.origin = life.origin;
    holder.bytes += life.bytes;
    ++holder.storages;
  }
  std::vector<RefusalHolder> holders;
  holders.reserve(by_origin.size());
  for (const auto& [origin, holder] : by_origin) holders.push_back(holder);
  std::sort(holders.begin(), holders.end(), [](const RefusalHolder& a, const RefusalHolder& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.origin < b.origin;
  });
  return holders;
}

}  // namespace tenure::profile
