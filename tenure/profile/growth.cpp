#include "tenure/profile/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>

#include "tenure/memory/accounts/rise.h"
#include "tenure/profile/growth_judge.h"

namespace tenure::profile {
namespace {

std::int64_t live_at(const History& history, std::int64_t time) {
  std::int64_t bytes = history.base_bytes;
  for (const StorageLife& life : history.storages) {
    if (life.birth_ns < time && life.death_ns >= time) bytes += life.bytes;
  }
  return bytes;
}

Loop judge(const History& history, Loop loop, const Marks& marks, std::size_t warm_up) {
  loop.can_tell = true;
  loop.first_bytes = live_at(history, marks.times.front());
  loop.last_bytes = live_at(history, marks.times.back());
  loop.growing = growing_lines(history, marks);
  for (Growth& growth : loop.growing) {
    growth.since_step += static_cast<std::int64_t>(warm_up) + 2;  // the mark before ends a step
  }
  return loop;
}

Loop judge_marks(const History& history, std::string name, std::vector<std::int64_t> marks) {
  Loop loop{.name = std::move(name), .steps = static_cast<std::int64_t>(marks.size())};
  loop.times = marks;
  const std::size_t warm_up = std::clamp<std::size_t>(marks.size() / 4, 1, 3);
  if (marks.size() < warm_up + mem::kFewestMarks) return loop;
  marks.erase(marks.begin(), marks.begin() + static_cast<std::ptrdiff_t>(warm_up));
  return judge(history, std::move(loop), {.is_marked = true, .times = std::move(marks)}, warm_up);
}

/// When tensors were allocated.
bool is_counted(const StorageLife& life) { return !life.was_before && life.tensors > 0; }

/// Moments with equally many allocations between them; none if there are too few.
std::vector<std::int64_t> moments(const std::vector<std::int64_t>& births) {
  constexpr std::size_t kFewest = 64;
  constexpr std::size_t kMost = 1024;
  constexpr std::size_t kBetween = 8;
  const std::size_t n = std::min(births.size() / kBetween, kMost);
  std::vector<std::int64_t> times;
  if (n < kFewest) return times;
  for (std::size_t i = 0; i <= n; ++i) times.push_back(births[(births.size() - 1) * i / n]);
  return times;
}

std::vector<std::int64_t> moments(const History& history) {
  std::vector<std::int64_t> births;
  for (const StorageLife& life : history.storages) {
    if (is_counted(life)) births.push_back(life.birth_ns);
  }
  return moments(births);
}

/// Threads that grew until they allocated no more, while others went on.
std::vector<Loop> ended_threads(const History& history) {
  constexpr std::size_t kMostThreads = 16;
  struct Births {
    std::vector<std::int64_t> times{};
    std::int64_t left = 0;  // bytes
  };
  std::map<std::uint32_t, Births> threads;
  std::int64_t last = 0;
  for (const StorageLife& life : history.storages) {
    if (!is_counted(life)) continue;
    Births& births = threads[life.thread];
    births.times.push_back(last = life.birth_ns);
    if (life.is_live()) births.left += life.bytes;
  }
  threads.erase(history.last_thread);
  std::erase_if(threads, [&](const auto& thread) {
    return thread.second.left == 0 || thread.second.times.back() == last;
  });
  std::vector<std::pair<std::int64_t, std::uint32_t>> largest;
  for (const auto& [number, births] : threads) largest.emplace_back(-births.left, number);
  std::sort(largest.begin(), largest.end());
  if (largest.size() > kMostThreads) largest.resize(kMostThreads);
  std::vector<Loop> result;
  for (const auto& [left, number] : largest) {
    const std::vector<std::int64_t> times = moments(threads[number].times);
    if (times.empty()) continue;
    Loop loop{.name = fmt::format("thread {}", number),
              .is_marked = false,
              .steps = static_cast<std::int64_t>(times.size()) - 1,
              .times = times};
    loop =
        judge(history, std::move(loop), {.is_marked = false, .times = times, .thread = number}, 0);
    if (!loop.growing.empty()) result.push_back(std::move(loop));
  }
  return result;
}

LeftOver most_left(const History& history) {
  std::map<std::pair<std::string, std::string_view>, LeftOver> lines;  // by place and op
  for (const StorageLife& life : history.storages) {
    const bool is_parameter =
        life.category == Category::parameter || life.category == Category::optimizer;
    if (!life.is_live() || life.was_before || life.tensors == 0 || is_parameter) continue;
    const Origin& origin = history.recorded.origin(life.origin);
    LeftOver& line = lines[{place_text(origin), origin.op}];
    line.origin = life.origin;
    line.bytes += life.bytes;
    ++line.storages;
  }
  LeftOver most;
  for (const auto& [place, line] : lines) {
    if (line.bytes > most.bytes) most = line;
  }
  return most;
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
    result.push_back(judge_marks(history, name, marks));
  }
  const bool can_tell =
      std::any_of(result.begin(), result.end(), [](const Loop& loop) { return loop.can_tell; });
  std::vector<std::int64_t> times = can_tell ? std::vector<std::int64_t>() : moments(history);
  if (!times.empty()) {
    Loop whole{
        .name = "", .is_marked = false, .steps = static_cast<std::int64_t>(times.size()) - 1};
    whole.times = times;
    whole.left = most_left(history);
    result.push_back(
        judge(history, std::move(whole), {.is_marked = false, .times = std::move(times)}, 0));
  }
  std::vector<Loop> ended = ended_threads(history);
  // A program of which a thread has grown is not said to be steady.
  if (!ended.empty()) {
    std::erase_if(result, [](const Loop& loop) { return !loop.is_marked && loop.growing.empty(); });
  }
  result.insert(result.end(), std::make_move_iterator(ended.begin()),
                std::make_move_iterator(ended.end()));
  return result;
}

}  // namespace tenure::profile
