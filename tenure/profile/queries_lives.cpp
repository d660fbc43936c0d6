#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>

#include "tenure/profile/queries.h"

namespace tenure::profile {
namespace {

/// What one place holds at some of the steps.
struct Holdings {
  static constexpr std::size_t kSamples = 16;
  std::array<std::int64_t, kSamples> bytes{};
  std::array<std::int64_t, kSamples> storages{};
  std::array<std::int64_t, kSamples> sharers{};
};

/// Up to kSamples of the marks after the warm-up, evenly, the last among them.
std::vector<std::int64_t> sample_times(const std::vector<std::int64_t>& marks,
                                       std::size_t warm_up) {
  const std::size_t rest = marks.size() - warm_up;
  const std::size_t n = std::min(rest, Holdings::kSamples);
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < n; ++i) {
    times.push_back(marks[warm_up + (rest - 1) * i / (n - 1)]);
  }
  return times;
}

/// Higher after each quarter of the time (half, where there are few samples), and hardly ever
/// falling on the way. What rises once or twice, as when a last, smaller batch is compiled, does
/// not grow.
bool rises(const std::array<std::int64_t, Holdings::kSamples>& levels, std::size_t n) {
  std::size_t falls = 0;
  for (std::size_t i = 1; i < n; ++i) falls += levels[i] < levels[i - 1] ? 1 : 0;
  const std::size_t parts = n >= 8 ? 4 : 2;
  for (std::size_t part = 0; part < parts; ++part) {
    if (levels[(n - 1) * (part + 1) / parts] <= levels[(n - 1) * part / parts]) return false;
  }
  return falls * 4 <= n;
}

Loop grow(const History& history, std::string name, const std::vector<std::int64_t>& marks) {
  Loop loop{.name = std::move(name), .steps = static_cast<std::int64_t>(marks.size())};
  const std::size_t warm_up = std::clamp<std::size_t>(marks.size() / 4, 1, 3);
  if (marks.size() < warm_up + 3) return loop;
  loop.can_tell = true;
  const std::vector<std::int64_t> times = sample_times(marks, warm_up);
  const std::size_t n = times.size();
  std::unordered_map<std::uint32_t, Holdings> places;
  Holdings total;
  // At a mark everything is counted that was born before it and does not end by it.
  const auto for_each_mark = [&](const auto& life, const auto& count) {
    const auto first = std::upper_bound(times.begin(), times.end(), life.birth_ns);
    const auto last = std::upper_bound(times.begin(), times.end(), life.death_ns);
    for (auto at = first; at < last; ++at) count(static_cast<std::size_t>(at - times.begin()));
  };
  for (const StorageLife& life : history.storages) {
    for_each_mark(life, [&](std::size_t i) {
      Holdings& place = places[life.origin];
      place.bytes[i] += life.bytes;
      ++place.storages[i];
      total.bytes[i] += life.bytes;
    });
  }
  for (const SharerLife& life : history.sharers) {
    for_each_mark(life, [&](std::size_t i) { ++places[life.origin].sharers[i]; });
  }
  loop.first_bytes = history.base_bytes + total.bytes[0];
  loop.last_bytes = history.base_bytes + total.bytes[n - 1];
  const double steps = static_cast<double>(marks.size() - warm_up - 1);
  for (const auto& [origin, place] : places) {
    if (!rises(place.storages, n) && !rises(place.bytes, n) && !rises(place.sharers, n)) continue;
    const auto per_step = [&](const auto& levels) {
      return static_cast<double>(levels[n - 1] - levels[0]) / steps;
    };
    loop.growing.push_back(
        {origin, per_step(place.bytes), per_step(place.storages), per_step(place.sharers)});
  }
  std::sort(loop.growing.begin(), loop.growing.end(), [](const Growth& a, const Growth& b) {
    return a.bytes_per_step != b.bytes_per_step ? a.bytes_per_step > b.bytes_per_step
                                                : a.origin < b.origin;
  });
  return loop;
}

}  // namespace

std::vector<Loop> growth(const History& history) {
  std::map<std::string, std::vector<std::int64_t>> loops;
  for (const StepMark& step : history.steps) {
    loops[std::string(history.recorded.origin(step.origin).op)].push_back(step.time_ns);
  }
  std::vector<Loop> result;
  for (auto& [name, marks] : loops) {
    std::sort(marks.begin(), marks.end());
    result.push_back(grow(history, name, marks));
  }
  return result;
}

Endings endings(const History& history) {
  Endings result;
  std::unordered_map<std::uint32_t, Ending> late;
  std::unordered_map<std::uint32_t, Ending> never;
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // time and bytes
  for (const StorageLife& life : history.storages) {
    const std::int64_t last_use = life.idle_since(history.end_ns);
    const std::int64_t end = life.is_live() ? history.end_ns : life.death_ns;
    const double idle = static_cast<double>(end - last_use) * 1e-9;
    Ending& ending = (life.is_live() ? never : late)[life.origin];
    ending.origin = life.origin;
    ++ending.storages;
    ending.bytes += life.bytes;
    ending.idle_seconds = std::max(ending.idle_seconds, idle);
    ending.idle_byte_seconds += idle * static_cast<double>(life.bytes);
    changes.emplace_back(life.birth_ns, life.bytes);
    changes.emplace_back(std::min(end, last_use + 1), -life.bytes);
  }
  std::sort(changes.begin(), changes.end());  // at one moment, ends come first
  std::int64_t level = history.base_bytes;
  result.least_peak = level;
  for (const auto& [time, bytes] : changes) {
    level += bytes;
    result.least_peak = std::max(result.least_peak, level);
  }
  for (const auto& [origin, ending] : late) result.late.push_back(ending);
  for (const auto& [origin, ending] : never) result.never.push_back(ending);
  for (const auto& [origin, times] : history.disposed_while_held) {
    result.early.push_back({.origin = origin, .storages = times});
  }
  std::sort(result.late.begin(), result.late.end(), [](const Ending& a, const Ending& b) {
    return a.idle_byte_seconds != b.idle_byte_seconds ? a.idle_byte_seconds > b.idle_byte_seconds
                                                      : a.origin < b.origin;
  });
  std::sort(result.never.begin(), result.never.end(), [](const Ending& a, const Ending& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.origin < b.origin;
  });
  std::sort(result.early.begin(), result.early.end(), [](const Ending& a, const Ending& b) {
    return a.storages != b.storages ? a.storages > b.storages : a.origin < b.origin;
  });
  return result;
}

}  // namespace tenure::profile
