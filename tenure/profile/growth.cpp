#include "tenure/profile/growth.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
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

/// Whether tensors were allocated then.
bool is_counted(const StorageLife& life) { return !life.was_before && life.tensors > 0; }

/// Moments with equally many of these times between them, at least `between`; none if there are
/// too few.
std::vector<std::int64_t> moments(const std::vector<std::int64_t>& births,
                                  std::size_t between = 8) {
  constexpr std::size_t kFewest = 64;
  constexpr std::size_t kMost = 1024;
  const std::size_t n = std::min(births.size() / between, kMost);
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
  std::vector<std::int64_t> times = moments(births);
  if (!times.empty()) return times;
  // What runs in every iteration may allocate next to nothing.
  std::vector<std::int64_t> runs;
  for (const RunLife& run : history.run_lives) runs.push_back(run.begin_ns);
  std::sort(runs.begin(), runs.end());
  return moments(runs, 2);
}

/// Threads that grew until they allocated no more, while others went on; and beside loops with
/// marks that could tell, those that went on to the end without marks of their own.
std::vector<Loop> growing_threads(const History& history, bool has_marks) {
  constexpr std::size_t kMostThreads = 16;
  struct Births {
    std::vector<std::int64_t> times{};
    std::int64_t left = 0;  // bytes
    int before = 0;         // threads that had its number
  };
  using Thread = std::pair<std::uint32_t, std::uint32_t>;  // number and life
  std::map<Thread, Births> threads;
  std::int64_t last = 0;
  for (const StorageLife& life : history.storages) {
    if (!is_counted(life)) continue;
    Births& births = threads[{life.thread, life.thread_life}];
    births.times.push_back(last = life.birth_ns);
    if (life.is_live()) births.left += life.bytes;
  }
  std::map<std::uint32_t, int> lives;  // by number
  for (auto& [thread, births] : threads) births.before = lives[thread.first]++;
  std::set<Thread> judged;  // as a part of the program, or by their marks
  if (!has_marks) judged.insert({history.last_thread, history.last_life});
  for (const StepMark& mark : history.steps) {
    if (has_marks) judged.insert({mark.thread, mark.thread_life});
  }
  std::erase_if(threads, [&](const auto& thread) {
    const auto& [key, births] = thread;
    return births.left == 0 || judged.contains(key) || (!has_marks && births.times.back() == last);
  });
  std::vector<std::pair<std::int64_t, Thread>> largest;
  for (const auto& [thread, births] : threads) largest.emplace_back(-births.left, thread);
  std::sort(largest.begin(), largest.end());
  if (largest.size() > kMostThreads) largest.resize(kMostThreads);
  std::vector<Loop> result;
  for (const auto& [left, thread] : largest) {
    const Births& births = threads[thread];
    const std::vector<std::int64_t> times = moments(births.times);
    if (times.empty()) continue;
    const ThreadNumber number{.number = thread.first, .life = thread.second};
    std::string name = fmt::format("thread {}", number.number);
    if (births.before > 0) name += fmt::format(", number {} of that name", births.before + 1);
    Loop loop{.name = std::move(name),
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

/// Takes out lines that other loops have already, and loops that have no others.
void drop_what_is_told(std::vector<Loop>& loops, const std::vector<Loop>& told,
                       const Recorded& recorded) {
  const auto line_of = [&](const Growth& growth) {
    const Origin& origin = recorded.origin(growth.origin);
    return std::pair(place_text(origin), origin.op);
  };
  std::set<std::pair<std::string, std::string_view>> lines;
  for (const Loop& loop : told) {
    for (const Growth& growth : loop.growing) lines.insert(line_of(growth));
  }
  for (Loop& loop : loops) {
    std::erase_if(loop.growing,
                  [&](const Growth& growth) { return lines.contains(line_of(growth)); });
  }
  std::erase_if(loops, [](const Loop& loop) { return loop.growing.empty(); });
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
  std::vector<Loop> ended = growing_threads(history, can_tell);
  drop_what_is_told(ended, result, history.recorded);
  // A program of which a thread has grown is not said to be steady.
  if (!ended.empty()) {
    std::erase_if(result, [](const Loop& loop) { return !loop.is_marked && loop.growing.empty(); });
  }
  result.insert(result.end(), std::make_move_iterator(ended.begin()),
                std::make_move_iterator(ended.end()));
  return result;
}

}  // namespace tenure::profile
