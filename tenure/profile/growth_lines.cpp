#include "tenure/profile/growth_lines.h"

#include <algorithm>

namespace tenure::profile {

bool LineLevels::rises_at_all() const {
  return std::any_of(rises.begin(), rises.end(), [](const auto& rise) { return rise.has_value(); });
}

Lines::Lines(const History& history, const Marks& marks) : history_(history), marks_(marks) {
  line_of_.resize(std::max<std::size_t>(history.recorded.origins(), 1), kUnknown);
  collect();
}

std::vector<mem::Window> levels_of(const std::vector<LevelStep>& changes, Measure measure,
                                   const Marks& marks) {
  std::vector<mem::Window> levels;
  levels.reserve(marks.size());
  std::int64_t level = 0;
  std::size_t next = 0;
  const auto go_until = [&](std::int64_t time, mem::Window& window) {
    for (; next < changes.size() && changes[next].time_ns < time; ++next) {
      if (changes[next].measure != measure) continue;
      level += changes[next].by;
      window = mem::merged(window, {level, level});
    }
  };
  mem::Window ignored;
  if (!marks.is_marked) go_until(marks.times.front(), ignored);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    mem::Window window{level, level};
    go_until(marks.is_marked ? marks.times[i] : marks.times[i + 1], window);
    if (marks.is_marked) window.low = level;
    levels.push_back({window.low, window.low});
  }
  return levels;
}

void sort_by_time(std::vector<LevelStep>& changes) {
  std::sort(changes.begin(), changes.end(), [](const LevelStep& a, const LevelStep& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.by < b.by;
  });
}

std::uint32_t Lines::line_of(std::uint32_t origin) {
  if (origin >= line_of_.size()) origin = 0;
  std::uint32_t& line = line_of_[origin];
  if (line != kUnknown) return line;
  const Origin& from = history_.recorded.origin(origin);
  const auto [found, is_new] = numbers_.try_emplace(Place(from.op, from.file, from.line),
                                                    static_cast<std::uint32_t>(lines_.size()));
  if (is_new) lines_.push_back({.origin = origin});
  return line = found->second;
}

bool Lines::counts(std::size_t storage) const {
  return is_held_[storage] && is_of_loop(history_.storages[storage]);
}

bool Lines::is_of_loop(const StorageLife& life) const {
  if (life.tensors == 0) return false;  // an arena, a workspace: who made them is counted
  if (marks_.thread &&
      (life.thread != marks_.thread->number || life.thread_life != marks_.thread->life)) {
    return false;
  }
  if (marks_.is_marked) return true;
  return life.category != Category::parameter && life.category != Category::optimizer;
}

void Lines::add(std::uint32_t line, Measure measure, std::int64_t birth, std::int64_t end,
                std::int64_t by) {
  LineLevels& at = lines_[line];
  at.changes.push_back({birth, measure, by});
  if (end != kNever) at.changes.push_back({end, measure, -by});
  if (birth < marks_.last() && end >= marks_.last()) ++at.rows;
  if (birth < marks_.times.front() && end >= marks_.times.front()) --at.rows;
}

void Lines::collect() {
  is_held_.resize(history_.storages.size());
  for (const TensorLife& tensor : history_.tensors) {
    if (tensor.kind != HolderKind::cache) is_held_[tensor.storage] = true;
  }
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!counts(i)) continue;
    const std::uint32_t line = line_of(life.origin);
    add(line, kBytes, life.birth_ns, life.death_ns, life.bytes);
    add(line, kStorages, life.birth_ns, life.death_ns, 1);
  }
  for (const TensorLife& tensor : history_.tensors) {
    if (tensor.kind == HolderKind::cache || !is_of_loop(history_.storages[tensor.storage])) {
      continue;
    }
    const std::uint32_t line = line_of(tensor.origin);
    if (!tensor.is_first) add(line, kSharers, tensor.birth_ns, tensor.end_ns, 1);
    if (tensor.was_disposed) add(line, kDisposed, tensor.end_ns, tensor.gone_ns, 1);
  }
}

}  // namespace tenure::profile
