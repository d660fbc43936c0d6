#include <algorithm>
#include <unordered_map>

#include "tenure/profile/queries.h"

namespace tenure::profile {

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
