#include "tenure/planner/eviction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "tenure/planner/elementary.h"

namespace tenure::planner {

// Note: what to give up
//
// As in DTR (Kirisame et al., 2021), a result is worth keeping if it is dear to compute again,
// small, and fresh; what is worth least goes first. The price of a result is its own cost and, in
// part, that of the evicted results from which it would be computed, and of those for which it
// would have to be computed first:
//
//   worth = price / (bytes * staleness^0.8),   price = cost + 0.7 * cost of the evicted around it
//
// DTR has exponents and shares of one. Two more things are different. Where several results must
// go, each makes its neighbours dearer before the next is chosen; and in the end those stay that
// the others turned out to make unnecessary. On the programs of the benchmark this adds less cost
// than DTR and gets through where DTR does not.

namespace {

/// Regions of evicted results are looked at this far; a larger one is dear enough.
constexpr std::size_t kLargestRegion = 256;
constexpr double kShareOfRegion = 0.7;
constexpr double kStalenessExponent = 0.8;

}  // namespace

EvictionError::EvictionError(std::int64_t wanted, std::int64_t possible)
    : ValueError(fmt::format("cannot free {} bytes: all results that may be evicted have {}; unpin "
                             "or free some",
                             wanted, possible)),
      wanted_(wanted),
      possible_(possible) {}

std::size_t Eviction::at(Id id) const {
  const auto found = index_.find(id);
  if (found == index_.end()) throw ValueError(fmt::format("eviction: no result has the id {}", id));
  return found->second;
}

bool Eviction::is_live(Id id) const { return entries_[at(id)].live; }

void Eviction::on_compute(Id id, const Result& result) {
  if (result.bytes < 0 || result.cost < 0)
    throw ValueError(fmt::format("eviction: result {} has {} bytes and costs {}", id, result.bytes,
                                 result.cost));
  if (is_known(id)) throw ValueError(fmt::format("eviction: the id {} is known already", id));
  std::size_t index = entries_.size();
  if (spare_.empty()) {
    entries_.emplace_back();
  } else {
    index = spare_.back();
    spare_.pop_back();
    entries_[index] = Entry{};
  }
  index_.emplace(id, index);
  Entry& entry = entries_[index];
  entry.id = id;
  entry.bytes = result.bytes;
  entry.cost = result.cost;
  entry.pure = result.pure;
  for (Id input : result.inputs) {
    const auto found = index_.find(input);
    if (found == index_.end()) continue;
    entry.inputs.push_back(found->second);
    entries_[found->second].readers.push_back(index);
  }
  clock_ += result.cost;
  enter_live(index);
}

void Eviction::on_recompute(Id id) {
  const std::size_t index = at(id);
  if (entries_[index].live) throw ValueError(fmt::format("eviction: result {} is live", id));
  mark_stale_around(index);
  clock_ += entries_[index].cost;
  enter_live(index);
}

void Eviction::on_access(Id id) { touch(at(id)); }

void Eviction::on_evict(Id id) {
  const std::size_t index = at(id);
  if (!entries_[index].live) throw ValueError(fmt::format("eviction: result {} is not live", id));
  leave_live(index);
  mark_stale_around(index);
}

void Eviction::on_free(Id id) {
  const std::size_t index = at(id);
  entries_[index].wanted = false;
  forget_unwanted(index);
}

void Eviction::on_settle(Id id) {
  const std::size_t index = at(id);
  if (!entries_[index].live) throw ValueError(fmt::format("eviction: result {} is not live", id));
  for (const std::size_t reader : entries_[index].readers) {
    std::erase(entries_[reader].inputs, index);
    entries_[reader].is_stale = true;
  }
  entries_[index].readers.clear();
  entries_[index].wanted = false;
  forget_unwanted(index);
}

void Eviction::pin(Id id) { ++entries_[at(id)].pins; }

void Eviction::unpin(Id id) {
  Entry& entry = entries_[at(id)];
  if (entry.pins == 0) throw ValueError(fmt::format("eviction: result {} has no pins", id));
  --entry.pins;
}

std::vector<Eviction::Id> Eviction::choose(std::int64_t bytes,
                                           const std::function<bool(Id)>& may_go) {
  candidates_.clear();
  std::int64_t possible = 0;
  for (std::size_t index : live_) {
    const Entry& entry = entries_[index];
    if (!entry.pure || entry.pins > 0 || entry.bytes == 0) continue;
    if (may_go && !may_go(entry.id)) continue;
    possible += entry.bytes;
    candidates_.push_back(index);
  }
  if (possible < bytes) throw EvictionError(bytes, possible);

  std::vector<std::size_t> chosen;
  std::int64_t freed = 0;
  while (freed < bytes) {
    const std::size_t next = take_least_worth();
    chosen.push_back(next);
    freed += entries_[next].bytes;
    entries_[next].live = false;
    mark_stale_around(next);
  }
  std::vector<Id> ids;
  for (auto index = chosen.rbegin(); index != chosen.rend(); ++index) {
    Entry& entry = entries_[*index];
    entry.live = true;
    mark_stale_around(*index);
    if (freed - entry.bytes >= bytes)
      freed -= entry.bytes;
    else
      ids.push_back(entry.id);
  }
  std::reverse(ids.begin(), ids.end());
  return ids;
}

std::size_t Eviction::take_least_worth() {
  std::size_t best = 0;
  double least = HUGE_VAL;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    const Entry& entry = entries_[candidates_[i]];
    const double value = worth(candidates_[i]);
    if (value > least || (value == least && entry.id > entries_[candidates_[best]].id)) continue;
    least = value;
    best = i;
  }
  const std::size_t index = candidates_[best];
  candidates_[best] = candidates_.back();
  candidates_.pop_back();
  return index;
}

void Eviction::enter_live(std::size_t index) {
  Entry& entry = entries_[index];
  entry.live = true;
  entry.is_stale = true;
  entry.place = live_.size();
  live_.push_back(index);
  live_bytes_ += entry.bytes;
  touch(index);
}

void Eviction::leave_live(std::size_t index) {
  Entry& entry = entries_[index];
  entry.live = false;
  live_bytes_ -= entry.bytes;
  entries_[live_.back()].place = entry.place;
  live_[entry.place] = live_.back();
  live_.pop_back();
}

void Eviction::touch(std::size_t index) { entries_[index].last_use = clock_; }

/// Calls visit(entry) for evicted results from which, or upwards to which, only evicted ones lead.
template <class Visit>
void Eviction::walk_evicted(std::size_t from, bool upwards, Visit visit) {
  ++visits_;
  queue_.assign(1, from);
  for (std::size_t next = 0; next < queue_.size() && queue_.size() < kLargestRegion; ++next) {
    const Entry& entry = entries_[queue_[next]];
    for (std::size_t neighbour : upwards ? entry.inputs : entry.readers) {
      Entry& other = entries_[neighbour];
      if (other.visit == visits_) continue;
      other.visit = visits_;
      visit(other);
      if (!other.live) queue_.push_back(neighbour);
    }
  }
}

void Eviction::mark_stale_around(std::size_t index) {
  walk_evicted(index, true, [](Entry& entry) { entry.is_stale = true; });
  walk_evicted(index, false, [](Entry& entry) { entry.is_stale = true; });
}

double Eviction::worth(std::size_t index) {
  Entry& entry = entries_[index];
  if (entry.is_stale) {
    double region = 0;
    const auto add = [&](const Entry& other) {
      if (!other.live) region += static_cast<double>(other.cost);
    };
    walk_evicted(index, true, add);
    walk_evicted(index, false, add);
    entry.price = static_cast<double>(entry.cost) + kShareOfRegion * region;
    entry.is_stale = false;
  }
  const double staleness = static_cast<double>(clock_ - entry.last_use) + 1;
  return entry.price / (static_cast<double>(entry.bytes) * power(staleness, kStalenessExponent));
}

void Eviction::forget_unwanted(std::size_t index) {
  queue_.assign(1, index);
  while (!queue_.empty()) {
    const std::size_t next = queue_.back();
    queue_.pop_back();
    Entry& entry = entries_[next];
    if (entry.wanted || !entry.readers.empty()) continue;
    if (entry.live) leave_live(next);
    index_.erase(entry.id);
    for (std::size_t input : entry.inputs) {
      std::vector<std::size_t>& readers = entries_[input].readers;
      readers.erase(std::find(readers.begin(), readers.end(), next));
      queue_.push_back(input);
    }
    entry.inputs.clear();
    entry.wanted = true;  // a spare slot is not looked at again
    spare_.push_back(next);
  }
}

}  // namespace tenure::planner
