#include "tenure/profile/queries.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "tenure/profile/stacks.h"

namespace tenure::profile {
namespace {

/// Calls `visit(time, storage, bytes)` for every birth and end by time, an end before a birth of
/// the same moment; `end_of` says when a storage goes.
template <class EndOf, class Visit>
void for_each_change(const History& history, const EndOf& end_of, const Visit& visit) {
  const std::vector<StorageLife>& lives = history.storages;
  std::vector<std::uint32_t> ends;
  ends.reserve(lives.size());
  for (std::uint32_t i = 0; i < lives.size(); ++i) {
    if (end_of(lives[i]) != kNever) ends.push_back(i);
  }
  std::sort(ends.begin(), ends.end(),
            [&](std::uint32_t a, std::uint32_t b) { return end_of(lives[a]) < end_of(lives[b]); });
  std::size_t e = 0;
  const auto end_until = [&](std::int64_t time) {
    for (; e < ends.size() && end_of(lives[ends[e]]) <= time; ++e) {
      const StorageLife& life = lives[ends[e]];
      visit(end_of(life), life, -life.bytes);
    }
  };
  for (const StorageLife& life : lives) {
    end_until(life.birth_ns - 1);
    visit(life.birth_ns, life, life.bytes);
  }
  end_until(kNever - 1);
}

template <class Visit>
void for_each_change(const History& history, const Visit& visit) {
  for_each_change(
      history, [](const StorageLife& life) { return life.death_ns; }, visit);
}

std::size_t index(Category category) { return static_cast<std::size_t>(category); }

/// What was there before and is of no storage counts as the CPU's.
std::int64_t base_bytes(const History& history, std::optional<Device> device) {
  return device.value_or(cpu) == cpu ? history.base_bytes : 0;
}

Level base_level(const History& history, std::optional<Device> device) {
  Level level{.time_ns = history.begin_ns, .bytes = base_bytes(history, device)};
  level.category[index(Category::activation)] = level.bytes;
  return level;
}

/// What a device's pool had of its memory at a moment.
std::int64_t reserved_at(const History& history, Device device, std::int64_t time_ns) {
  std::int64_t bytes = 0;
  for (const PoolPartLife& part : history.parts) {
    const bool is_there = part.birth_ns <= time_ns && part.death_ns > time_ns;
    if (part.device == device && !part.is_slab && is_there) bytes += part.bytes;
  }
  return bytes;
}

/// Goes through time and knows the highest level since it was asked last: of all devices, or of
/// one.
class Sweep {
 public:
  Sweep(const History& history, std::optional<Device> device)
      : history_(history), device_(device), now_(base_level(history, device)) {
    begin(history.begin_ns);
  }

  void change(std::int64_t time, const StorageLife& life, std::int64_t bytes) {
    if (life.device != device_.value_or(life.device)) return;
    if (time > highest_.time_ns) until_ = std::min(until_, time);
    now_.time_ns = time;
    now_.bytes += bytes;
    now_.category[index(life.category)] += bytes;
    if (life.run != 0) {
      const auto storage = static_cast<std::uint32_t>(&life - history_.storages.data());
      if (bytes > 0) {
        arenas_.push_back(storage);
      } else {
        std::erase(arenas_, storage);
      }
    }
    if (now_.bytes > highest_.bytes) note();
  }

  /// The highest until `time`, from which on the next is looked for.
  Level take(std::int64_t time) {
    Level level = highest_;
    const std::int64_t moment =
        busiest_moment(history_, highest_arenas_, level.time_ns, std::min(until_, time));
    for (const std::uint32_t i : highest_arenas_) {
      const StorageLife& life = history_.storages[i];
      level.category[index(life.category)] -= life.bytes;
      for_each_piece(history_, life, moment, [&](const Piece& piece) {
        level.category[static_cast<std::size_t>(piece.kind)] += piece.bytes;
      });
    }
    level.time_ns = moment;
    begin(time);
    return level;
  }

 private:
  void begin(std::int64_t time) {
    note();
    highest_.time_ns = std::max(highest_.time_ns, time);
  }
  void note() {
    highest_ = now_;
    highest_arenas_ = arenas_;
    until_ = kNever;
  }

  const History& history_;
  const std::optional<Device> device_;
  Level now_;
  std::vector<std::uint32_t> arenas_{};  // that are live
  Level highest_{};
  std::vector<std::uint32_t> highest_arenas_{};
  std::int64_t until_ = kNever;  // when something changed after that
};

/// The groups of what comes again and again, each worked out once.
class Names {
 public:
  Names(const History& history, GroupBy by) : history_(history), by_(by) {}

  const std::string& of(const Piece& piece) {
    const Key key{piece.op.data(), piece.origin, piece.scope, piece.kind,
                  mem::place_of(piece.device)};
    const auto [name, is_new] = names_.try_emplace(key);
    if (is_new) name->second = group_of(history_, piece, by_);
    return name->second;
  }

 private:
  using Key = std::tuple<const char*, std::uint32_t, std::string_view, int, std::size_t>;
  const History& history_;
  GroupBy by_;
  std::map<Key, std::string> names_;
};

std::vector<Group> sorted(std::unordered_map<std::string, Group> groups) {
  std::vector<Group> list;
  list.reserve(groups.size());
  for (auto& [name, group] : groups) {
    group.name = name;
    list.push_back(std::move(group));
  }
  std::sort(list.begin(), list.end(), [](const Group& a, const Group& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  return list;
}

}  // namespace

std::vector<Level> timeline(const History& history, int points, std::optional<Device> device) {
  const std::int64_t begin = history.begin_ns;
  const std::int64_t whole = std::max<std::int64_t>(history.end_ns - begin, 1);
  const std::int64_t width = (whole + points - 1) / points;
  std::vector<Level> result;
  Sweep sweep(history, device);
  std::int64_t part = 0;
  const auto close_until = [&](std::int64_t wanted) {
    for (; part < wanted && part < points; ++part) {
      result.push_back(sweep.take(begin + (part + 1) * width));
    }
  };
  for_each_change(history, [&](std::int64_t time, const StorageLife& life, std::int64_t bytes) {
    close_until(std::min<std::int64_t>((time - begin) / width, points - 1));
    sweep.change(time, life, bytes);
  });
  close_until(points);
  return result;
}

Level peak(const History& history, std::optional<Device> device) {
  Sweep sweep(history, device);
  for_each_change(history, [&](std::int64_t time, const StorageLife& life, std::int64_t bytes) {
    sweep.change(time, life, bytes);
  });
  return sweep.take(kNever);
}

std::string group_of(const History& history, const Piece& piece, GroupBy by) {
  const Origin& origin = history.recorded.origin(piece.origin);
  switch (by) {
    case GroupBy::op:
      return std::string(piece.op.empty() ? "unknown" : piece.op);
    case GroupBy::line:
      return piece.op.empty() ? std::string("unknown")
                              : fmt::format("{} at {}", piece.op, place_text(origin));
    case GroupBy::scope:
      if (piece.kind == kUnusedKind) return fmt::format("({})", kUnusedArena);
      return std::string(piece.scope.empty() ? "(no scope)" : piece.scope);
    case GroupBy::category:
      return std::string(kind_name(piece.kind));
    case GroupBy::device:
      return name_of(piece.device);
    case GroupBy::calls: {
      const std::vector<StackFrame> frames = frames_of(history.recorded, origin);
      std::string name = frames.back().name;
      for (std::size_t i = frames.size() - 1; i > 0; --i) name += " < " + frames[i - 1].name;
      return name;
    }
  }
  return {};
}

std::vector<DeviceLevel> by_device(const History& history) {
  std::vector<DeviceLevel> levels;
  for (const Device device : history.devices) {
    const std::int64_t base = base_bytes(history, device);
    DeviceLevel level{.device = device, .peak = base, .at_end = base};
    for_each_change(history, [&](std::int64_t, const StorageLife& life, std::int64_t bytes) {
      if (life.device != device) return;
      level.at_end += bytes;
      level.peak = std::max(level.peak, level.at_end);
    });
    for (const OutsideSample& sample : history.outside) {
      if (sample.device != device) continue;
      const std::int64_t reserved = reserved_at(history, device, sample.time_ns);
      level.total = sample.total;
      if (reserved + sample.bytes < level.reserved + level.outside) continue;
      level.reserved = reserved;
      level.outside = sample.bytes;
    }
    levels.push_back(level);
  }
  return levels;
}

std::vector<Group> live_at(const History& history, std::int64_t time_ns, GroupBy by,
                           std::optional<Device> device) {
  std::unordered_map<std::string, Group> groups;
  Names names(history, by);
  for (const StorageLife& life : history.storages) {
    if (life.birth_ns > time_ns || life.death_ns <= time_ns) continue;
    if (life.device != device.value_or(life.device)) continue;
    for_each_piece(history, life, time_ns, [&](const Piece& piece) {
      Group& group = groups[names.of(piece)];
      group.bytes += piece.bytes;
      ++group.storages;
    });
  }
  const std::int64_t base = base_bytes(history, device);
  if (base > 0) groups["(before the recording)"].bytes += base;
  return sorted(std::move(groups));
}

std::int64_t live_at_end(const History& history) {
  std::int64_t bytes = history.base_bytes;
  for (const StorageLife& life : history.storages) bytes += life.is_live() ? life.bytes : 0;
  return bytes;
}

std::vector<Held> held_at_end(const History& history) {
  std::unordered_map<std::uint32_t, std::vector<const LiveHolder*>> holders;
  for (const LiveHolder& holder : history.holders) holders[holder.storage].push_back(&holder);
  std::vector<Held> result;
  for (std::uint32_t i = 0; i < history.storages.size(); ++i) {
    if (!history.storages[i].is_live()) continue;
    const auto found = holders.find(i);
    result.push_back({&history.storages[i],
                      found == holders.end() ? std::vector<const LiveHolder*>() : found->second});
  }
  std::stable_sort(result.begin(), result.end(), [](const Held& a, const Held& b) {
    return a.storage->bytes > b.storage->bytes;
  });
  return result;
}

std::string to_string(const LiveHolder& holder, const Recorded& recorded) {
  const Origin& origin = recorded.origin(holder.origin);
  return fmt::format("{}{}{}, made by {} at {}{}{}", name_of(holder.kind),
                     holder.name.empty() ? "" : " ", holder.name,
                     origin.op.empty() ? "unknown" : origin.op, place_text(origin),
                     origin.scope.empty() ? "" : " in ", origin.scope);
}

std::vector<MeasuredPlan> plans(const History& history) {
  std::vector<MeasuredPlan> result;
  for (const RecordedPlan& plan : history.recorded.plans()) {
    const auto runs = history.runs.find(plan.id);
    if (runs != history.runs.end()) result.push_back({&plan, runs->second});
  }
  return result;
}

BudgetEffect with_budget(const History& history, std::int64_t limit) {
  BudgetEffect effect{.limit = limit, .over = history.base_bytes - limit};
  std::int64_t level = history.base_bytes;
  std::int64_t last = history.begin_ns;
  for_each_change(history, [&](std::int64_t time, const StorageLife& life, std::int64_t bytes) {
    if (level > limit) effect.seconds_above += static_cast<double>(time - last) * 1e-9;
    last = time;
    level += bytes;
    effect.over = std::max(effect.over, level - limit);
    if (level > limit && effect.refused == nullptr && bytes > 0) effect.refused = &life;
  });
  if (level > limit) effect.seconds_above += static_cast<double>(history.end_ns - last) * 1e-9;
  effect.fits = effect.over <= 0;
  return effect;
}

Difference difference(const History& before, const History& after, GroupBy by) {
  Difference result;
  std::unordered_map<std::string, Change> changes;
  const auto add = [&](const History& history, std::int64_t Change::*bytes,
                       std::int64_t Change::*count, std::int64_t& peak_bytes,
                       std::int64_t& allocated, std::int64_t& live) {
    const Level highest = peak(history);
    peak_bytes = highest.bytes;
    live = live_at_end(history);
    Names names(history, by);
    for (const StorageLife& life : history.storages) {
      ++(changes[names.of(piece_of(history, life))].*count);
      allocated += life.bytes;
      if (life.birth_ns > highest.time_ns || life.death_ns <= highest.time_ns) continue;
      for_each_piece(history, life, highest.time_ns,
                     [&](const Piece& piece) { changes[names.of(piece)].*bytes += piece.bytes; });
    }
  };
  add(before, &Change::before, &Change::allocations_before, result.peak_before,
      result.allocated_before, result.live_before);
  add(after, &Change::after, &Change::allocations_after, result.peak_after, result.allocated_after,
      result.live_after);
  for (auto& [name, one] : changes) {
    if (one.before == one.after && one.allocations_before == one.allocations_after) continue;
    one.name = name;
    result.changes.push_back(std::move(one));
  }
  std::sort(result.changes.begin(), result.changes.end(), [](const Change& a, const Change& b) {
    const std::int64_t first = std::abs(a.after - a.before);
    const std::int64_t second = std::abs(b.after - b.before);
    if (first != second) return first > second;
    return a.name < b.name;
  });
  return result;
}

}  // namespace tenure::profile
