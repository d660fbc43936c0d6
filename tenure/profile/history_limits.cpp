#include <algorithm>

#include "tenure/profile/event_words.h"
#include "tenure/profile/history.h"

// What a recording says of budgets, refusals and pools.

namespace tenure::profile {

std::uint32_t History::budget_of(std::uint64_t account) const {
  const auto found = accounts_.find(account);
  return account == 0 || found == accounts_.end() ? 0 : found->second;
}

void History::take_limit(const Event& event) {
  switch (event.kind) {
    case EventKind::budget: {  // of an old recording, which does not say what is charged to it
      const std::int64_t limit = bytes_of(event.subject);
      budgets.push_back({.name = recorded.string(event.third),
                         .limit = limit,
                         .device = device_in(event.extra),
                         .begin_ns = event.time_ns,
                         .limits = {{event.time_ns, limit}}});
      return;
    }
    case EventKind::account:
      return take_account(event);
    case EventKind::account_end: {
      const std::uint32_t number = budget_of(event.subject);
      if (number != 0) budgets[number - 1].end_ns = time_of(event);
      return;
    }
    case EventKind::refuse:
      if (was_before(event)) return;
      last_refusal_[event.thread] = static_cast<std::uint32_t>(refusals.size());
      refusals.push_back({.time_ns = event.time_ns,
                          .cause = static_cast<RefusalSeen::Cause>(std::min<int>(event.tag, 2)),
                          .device = device_in(event.extra),
                          .budget = budget_of(event.third),
                          .origin = allocator_of(event.thread),
                          .thread = event.thread,
                          .requested = bytes_of(event.subject),
                          .used = bytes_of(event.fourth)});
      return;
    case EventKind::requester: {
      const auto last = last_refusal_.find(event.thread);
      if (last == last_refusal_.end()) return;
      refusals[last->second].origin = static_cast<std::uint32_t>(event.third);
      last_refusal_.erase(last);
      return;
    }
    default:
      take_part(event);
  }
}

/// A new one, or one that has another limit from now on.
void History::take_account(const Event& event) {
  const std::uint64_t account = event.third & 0xffff;
  const std::int64_t limit = bytes_of(event.subject);
  const std::string& name = recorded.string(event.third >> 32);
  if (const std::uint32_t known = budget_of(account); known != 0) {
    BudgetSeen& budget = budgets[known - 1];
    if (budget.end_ns == kNever && budget.name == name) {
      if (budget.limit == limit) return;
      budget.limit = limit;
      budget.limits.emplace_back(time_of(event), limit);
      return;
    }
  }
  budgets.push_back({.name = name,
                     .limit = limit,
                     .device = device_in(event.extra),
                     .begin_ns = time_of(event),
                     .around = budget_of(event.fourth & 0xffff),
                     .is_of_process = event.tag != 0,
                     .limits = {{time_of(event), limit}}});
  accounts_[account] = static_cast<std::uint32_t>(budgets.size());
}

void History::take_part(const Event& event) {
  const bool is_slab = (event.tag & kPartIsSlab) != 0;
  const bool came = (event.tag & kPartCame) != 0;
  const std::int64_t time =
      std::max(std::min(static_cast<std::int64_t>(event.fourth), event.time_ns), begin_ns);
  const std::uint64_t key =
      (event.subject << 8 | mem::place_of(device_in(event.extra))) << 1 | (is_slab ? 1 : 0);
  const auto there = parts_there_.find(key);
  if (came && there != parts_there_.end()) return;  // all that there is was told, and this before
  PoolPartLife part{
      .device = device_in(event.extra),
      .birth_ns = came ? time : begin_ns,
      .address = event.subject,
      .bytes = bytes_of(event.third),
      .unit = std::max<std::int64_t>(
          static_cast<std::int64_t>(event.third >> 48) * static_cast<std::int64_t>(kPartUnit), 1),
      .is_slab = is_slab};
  if (came) {
    parts_there_[key] = static_cast<std::uint32_t>(parts.size());
    parts.push_back(part);
  } else if (there != parts_there_.end()) {
    parts[there->second].death_ns = time;
    parts_there_.erase(there);
  } else {  // it had come before the events begin
    part.death_ns = time;
    parts.push_back(part);
  }
}

}  // namespace tenure::profile
