#include "tenure/profile/limits.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

namespace tenure::profile {
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

std::vector<Charged> charged_to(const History& history, std::span<const std::uint32_t> numbers) {
  struct Change {
    std::int64_t time_ns;
    std::int64_t bytes;
    std::size_t member;
  };
  constexpr std::size_t kNone = SIZE_MAX;
  std::vector<std::size_t> member_of(history.budgets.size() + 1, kNone);
  std::vector<std::int64_t> levels(numbers.size());
  std::vector<Change> changes;
  const auto add = [&](const StorageLife& life, std::size_t member) {
    changes.push_back({life.birth_ns, life.bytes, member});
    if (!life.is_live()) changes.push_back({life.death_ns, -life.bytes, member});
  };
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const BudgetSeen& budget = history.budgets[numbers[i] - 1];
    if (!budget.is_of_process) {
      member_of[numbers[i]] = i;
      continue;
    }
    levels[i] = budget.device == cpu ? history.base_bytes : 0;
    for (const StorageLife& life : history.storages) {
      if (life.device == budget.device) add(life, i);
    }
  }
  for (const StorageLife& life : history.storages) {
    std::uint32_t at = life.budget;
    for (std::size_t depth = 0; at != 0 && depth < history.budgets.size(); ++depth) {
      if (member_of[at] != kNone) add(life, member_of[at]);
      at = history.budgets[at - 1].around;
    }
  }
  // An end comes before a birth of the same moment.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.bytes < b.bytes;
  });
  std::multiset<std::int64_t> all(levels.begin(), levels.end());
  std::vector<Charged> result;
  result.reserve(changes.size());
  for (const Change& change : changes) {
    std::int64_t& level = levels[change.member];
    all.erase(all.find(level));
    level += change.bytes;
    all.insert(level);
    result.push_back({change.time_ns, *all.rbegin()});
  }
  return result;
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

std::vector<BudgetGroup> budget_groups(const History& history) {
  using Key = std::tuple<std::string, std::int64_t, std::size_t, std::string, bool>;
  std::map<Key, std::size_t> places;
  std::vector<BudgetGroup> groups;
  for (const BudgetUse& use : budget_uses(history)) {
    const BudgetSeen& budget = history.budgets[use.number - 1];
    if (history.begin_ns > 0 && budget.end_ns <= history.begin_ns) continue;
    const std::string around =
        budget.around == 0 ? std::string() : history.budgets[budget.around - 1].name;
    const auto [place, is_new] = places.try_emplace(
        Key(budget.name, budget.limit, mem::place_of(budget.device), around, budget.is_of_process),
        groups.size());
    if (is_new) groups.push_back({.most = use});
    BudgetGroup& group = groups[place->second];
    group.numbers.push_back(use.number);
    group.refusals += use.refusals;
    if (use.peak > group.most.peak) group.most = use;
    group.have_ended = group.have_ended && budget.end_ns != kNever;
  }
  for (BudgetGroup& group : groups) std::sort(group.numbers.begin(), group.numbers.end());
  const auto part = [&](const BudgetGroup& group) {
    const std::int64_t limit = history.budgets[group.numbers.front() - 1].limit;
    return static_cast<double>(group.most.peak) /
           static_cast<double>(std::max<std::int64_t>(limit, 1));
  };
  std::stable_sort(groups.begin(), groups.end(), [&](const BudgetGroup& a, const BudgetGroup& b) {
    return a.refusals != b.refusals ? a.refusals > b.refusals : part(a) > part(b);
  });
  return groups;
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
