#include "tenure/profile/growth_judge.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "tenure/memory/accounts/rise.h"
#include "tenure/profile/growth_callers.h"

namespace tenure::profile {
namespace {

using mem::Rise;
using mem::Window;

/// What can pile up at a line.
enum Measure : std::size_t { kBytes, kStorages, kSharers, kDisposed, kMeasures };

/// Something came to a line or went from it.
struct Step {
  std::int64_t time_ns;
  Measure measure;
  std::int64_t by;
};

/// All of one line.
struct Line {
  std::uint32_t origin = 0;
  std::vector<Step> changes{};
  std::int64_t rows = 0;  // that are live at the last mark less those at the first
  std::array<std::optional<Rise>, kMeasures> rises{};
  bool rises_at_all() const {
    return std::any_of(rises.begin(), rises.end(),
                       [](const auto& rise) { return rise.has_value(); });
  }
};

/// The levels of one measure at each mark, or the lowest between moments: what an iteration has
/// while it works is not known then from what it leaves.
std::vector<Window> levels_of(const std::vector<Step>& changes, Measure measure,
                              const Marks& marks) {
  std::vector<Window> levels;
  levels.reserve(marks.size());
  std::int64_t level = 0;
  std::size_t next = 0;
  const auto go_until = [&](std::int64_t time, Window& window) {
    for (; next < changes.size() && changes[next].time_ns < time; ++next) {
      if (changes[next].measure != measure) continue;
      level += changes[next].by;
      window = mem::merged(window, {level, level});
    }
  };
  Window ignored;
  if (!marks.is_marked) go_until(marks.times.front(), ignored);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    Window window{level, level};
    go_until(marks.is_marked ? marks.times[i] : marks.times[i + 1], window);
    if (marks.is_marked) window.low = level;
    levels.push_back({window.low, window.low});
  }
  return levels;
}

void sort_by_time(std::vector<Step>& changes) {
  std::sort(changes.begin(), changes.end(), [](const Step& a, const Step& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.by < b.by;
  });
}

std::vector<Window> negative(std::vector<Window> levels) {
  for (Window& window : levels) window = {.low = -window.high, .high = -window.low};
  return levels;
}

/// Judges one loop.
class Judge {
 public:
  Judge(const History& history, Marks marks) : history_(history), marks_(std::move(marks)) {
    line_of_.resize(std::max<std::size_t>(history.recorded.origins(), 1), kUnknown);
    collect();
  }
  std::vector<Growth> growing();

 private:
  static constexpr std::uint32_t kUnknown = UINT32_MAX;
  using Place = std::tuple<std::string_view, std::string_view, std::uint32_t>;

  std::uint32_t line_of(std::uint32_t origin);
  bool counts(const StorageLife& life) const;
  void collect();
  void add(std::uint32_t line, Measure measure, std::int64_t birth, std::int64_t end,
           std::int64_t by);
  void find_rises();
  void drop_what_others_lost();
  void blame_largest();
  void drop_what_is_used();
  void drop_what_ended_or_was_used_since();
  Growth describe(const Line& line) const;
  void choose_origins(std::vector<Growth>& growing);
  bool is_left(const TensorLife& tensor) const;
  void find_callers(std::vector<Growth>& growing);
  void find_holders(std::vector<Growth>& growing);
  void add_things(std::vector<Growth>& growing) const;

  const History& history_;
  const Marks marks_;
  std::map<Place, std::uint32_t> numbers_;
  std::vector<std::uint32_t> line_of_;  // by origin
  std::vector<Line> lines_;
  std::vector<bool> is_held_;  // by storage: by something else than caches
};

std::uint32_t Judge::line_of(std::uint32_t origin) {
  if (origin >= line_of_.size()) origin = 0;
  std::uint32_t& line = line_of_[origin];
  if (line != kUnknown) return line;
  const Origin& from = history_.recorded.origin(origin);
  const auto [found, is_new] = numbers_.try_emplace(Place(from.op, from.file, from.line),
                                                    static_cast<std::uint32_t>(lines_.size()));
  if (is_new) lines_.push_back({.origin = origin});
  return line = found->second;
}

bool Judge::counts(const StorageLife& life) const {
  if (life.tensors == 0) return false;  // an arena, a workspace: who made them is counted
  if (marks_.thread &&
      (life.thread != marks_.thread->number || life.thread_life != marks_.thread->life)) {
    return false;
  }
  if (marks_.is_marked) return true;
  return life.category != Category::parameter && life.category != Category::optimizer;
}

void Judge::add(std::uint32_t line, Measure measure, std::int64_t birth, std::int64_t end,
                std::int64_t by) {
  Line& at = lines_[line];
  at.changes.push_back({birth, measure, by});
  if (end != kNever) at.changes.push_back({end, measure, -by});
  if (birth < marks_.last() && end >= marks_.last()) ++at.rows;
  if (birth < marks_.times.front() && end >= marks_.times.front()) --at.rows;
}

void Judge::collect() {
  is_held_.resize(history_.storages.size());
  for (const TensorLife& tensor : history_.tensors) {
    if (tensor.kind != HolderKind::cache) is_held_[tensor.storage] = true;
  }
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!is_held_[i] || !counts(life)) continue;
    const std::uint32_t line = line_of(life.origin);
    add(line, kBytes, life.birth_ns, life.death_ns, life.bytes);
    add(line, kStorages, life.birth_ns, life.death_ns, 1);
  }
  for (const TensorLife& tensor : history_.tensors) {
    if (tensor.kind == HolderKind::cache || !counts(history_.storages[tensor.storage])) continue;
    const std::uint32_t line = line_of(tensor.origin);
    if (!tensor.is_first) add(line, kSharers, tensor.birth_ns, tensor.end_ns, 1);
    if (tensor.was_disposed) add(line, kDisposed, tensor.end_ns, tensor.gone_ns, 1);
  }
}

void Judge::find_rises() {
  for (Line& line : lines_) {
    const bool may_grow_in_bytes = line.rows == 0;  // one tensor that becomes larger
    if (line.rows < 0 || line.changes.empty()) continue;
    sort_by_time(line.changes);
    for (std::size_t m = 0; m < kMeasures; ++m) {
      if (may_grow_in_bytes && m != kBytes) continue;
      line.rises[m] = rise_at_end(levels_of(line.changes, static_cast<Measure>(m), marks_));
    }
  }
}

/// What one line takes over from others is no growth: a queue that was filled by one and is
/// refilled by another.
void Judge::drop_what_others_lost() {
  for (std::size_t m = 0; m < kDisposed; ++m) {
    double risen = 0;
    double fallen = 0;
    for (Line& line : lines_) {
      if (line.rises[m]) risen += line.rises[m]->each;
    }
    if (risen == 0) continue;
    for (Line& line : lines_) {
      if (line.rows >= 0) continue;
      sort_by_time(line.changes);
      const auto fall =
          rise_at_end(negative(levels_of(line.changes, static_cast<Measure>(m), marks_)));
      if (fall) fallen += fall->each;
    }
    if (2 * fallen < risen) continue;
    for (Line& line : lines_) line.rises[m].reset();
  }
}

/// Where all lines together grow and none of them does by itself, those that have most more.
void Judge::blame_largest() {
  if (std::any_of(lines_.begin(), lines_.end(), [](const Line& l) { return l.rises_at_all(); })) {
    return;
  }
  constexpr std::size_t kBlamed = 5;
  for (const Measure measure : {kBytes, kStorages, kSharers}) {
    std::vector<Step> all;
    for (const Line& line : lines_) {
      for (const Step& step : line.changes) {
        if (step.measure == measure) all.push_back(step);
      }
    }
    sort_by_time(all);
    const std::optional<Rise> total = rise_at_end(levels_of(all, measure, marks_));
    if (!total) continue;
    const std::int64_t since = marks_.times[total->since];
    std::vector<std::pair<std::int64_t, Line*>> more;
    for (Line& line : lines_) {
      std::int64_t by = 0;
      for (const Step& step : line.changes) {
        const bool is_since = step.time_ns >= since && step.time_ns < marks_.last();
        if (step.measure == measure && is_since) by += step.by;
      }
      if (by * 10 >= total->by) more.emplace_back(by, &line);
    }
    std::sort(more.begin(), more.end(),
              [](const auto& a, const auto& b) { return a.first > b.first; });
    if (more.size() > kBlamed) more.resize(kBlamed);
    const auto steps =
        static_cast<double>(std::max<std::size_t>(marks_.size() - total->since - 1, 1));
    for (const auto& [by, line] : more) {
      line->rises[measure] =
          Rise{.since = total->since, .each = static_cast<double>(by) / steps, .by = by};
    }
    return;
  }
}

/// Without marks a line that fills a table looks like one that leaks. What leaks is not used again.
/// One tensor that becomes larger and larger is another matter.
void Judge::drop_what_is_used() {
  std::vector<std::pair<std::int64_t, std::int64_t>> kept(lines_.size());  // and of these, idle
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!is_held_[i] || !counts(life) || life.birth_ns >= marks_.last() ||
        life.death_ns < marks_.last()) {
      continue;
    }
    const std::uint32_t line = line_of(life.origin);
    const std::optional<Rise>& rise = lines_[line].rises[kStorages];
    if (!rise) continue;
    const std::size_t length = marks_.size() - rise->since;
    const std::int64_t half = marks_.times[rise->since + length / 2];
    const std::int64_t late = marks_.times[rise->since + length * 3 / 4];
    if (life.birth_ns < marks_.times[rise->since] || life.birth_ns > half) continue;
    ++kept[line].first;
    if (life.last_use_ns < late) ++kept[line].second;
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    if (!lines_[i].rises[kStorages]) continue;
    if (kept[i].second * 4 >= kept[i].first * 3 && kept[i].first > 0) continue;
    lines_[i].rises[kBytes].reset();
    lines_[i].rises[kStorages].reset();
  }
}

void Judge::drop_what_ended_or_was_used_since() {
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!is_held_[i] || !counts(life) || life.death_ns < marks_.last()) continue;
    if (life.birth_ns >= marks_.last()) continue;  // it was made then, and used at once
    if (life.is_live() && life.last_use_ns <= marks_.last()) continue;
    lines_[line_of(life.origin)].rises = {};
  }
}

Growth Judge::describe(const Line& line) const {
  const auto each = [&](Measure m) { return line.rises[m] ? line.rises[m]->each : 0.0; };
  const auto in_all = [&](Measure m) { return line.rises[m] ? line.rises[m]->by : 0; };
  Growth growth{.origin = line.origin,
                .bytes_per_step = each(kBytes),
                .storages_per_step = each(kStorages),
                .sharers_per_step = each(kSharers)};
  std::size_t first = kBytes;
  while (!line.rises[first]) ++first;
  if (first == kDisposed) {
    growth.what = kDisposedTensor;
    growth.things_per_step = each(kDisposed);
  }
  growth.since_step = static_cast<std::int64_t>(line.rises[first]->since);
  growth.since_ns = marks_.times[line.rises[first]->since];
  growth.bytes = in_all(kBytes);
  const std::size_t counted = first == kBytes && line.rises[kStorages] ? kStorages : first;
  growth.number = counted == kBytes ? 0 : line.rises[counted]->by;
  growth.storages = in_all(kStorages);
  growth.sharers = in_all(kSharers);
  growth.things = first == kDisposed ? in_all(kDisposed) : 0;
  return growth;
}

/// Whether it, or what it was the first to hold, is there at the last mark: what somebody else
/// holds counts for who made it.
bool Judge::is_left(const TensorLife& tensor) const {
  if (tensor.birth_ns >= marks_.last()) return false;
  return tensor.gone_ns >= marks_.last() ||
         (tensor.is_first && history_.storages[tensor.storage].death_ns >= marks_.last());
}

/// Of a line's origins, which differ by scope and by who called, the one that left most behind.
void Judge::choose_origins(std::vector<Growth>& growing) {
  std::map<std::uint32_t, Growth*> by_line;
  for (Growth& growth : growing) by_line[line_of(growth.origin)] = &growth;
  std::map<std::uint32_t, std::int64_t> left;  // by origin
  for (const TensorLife& tensor : history_.tensors) {
    const auto growth = by_line.find(line_of(tensor.origin));
    if (growth == by_line.end() || tensor.birth_ns < growth->second->since_ns) continue;
    if (is_left(tensor)) ++left[tensor.origin];
  }
  std::map<std::uint32_t, std::int64_t> most;  // by line
  for (const auto& [origin, number] : left) {
    std::int64_t& highest = most[line_of(origin)];
    if (number <= highest) continue;
    highest = number;
    by_line[line_of(origin)]->origin = origin;
  }
}

void Judge::find_callers(std::vector<Growth>& growing) {
  std::map<std::uint32_t, std::size_t> by_line;
  for (std::size_t i = 0; i < growing.size(); ++i) by_line[line_of(growing[i].origin)] = i;
  std::vector<CallsSeen> seen(growing.size());
  std::vector<CallsSeen> of_all(growing.size(), CallsSeen{.is_of_all = true});
  for (const SampledCalls& sample : history_.sampled) {
    const TensorLife& tensor = history_.tensors[sample.tensor];
    const auto growth = by_line.find(line_of(tensor.origin));
    if (growth == by_line.end() || tensor.birth_ns < growing[growth->second].since_ns) continue;
    ++of_all[growth->second].stacks[sample.stack];
    if (is_left(tensor)) ++seen[growth->second].stacks[sample.stack];
  }
  for (std::size_t i = 0; i < seen.size(); ++i) {
    if (seen[i].stacks.empty()) seen[i] = std::move(of_all[i]);
  }
  name_callers(growing, seen, history_.recorded);
}

void Judge::find_holders(std::vector<Growth>& growing) {
  std::map<std::uint32_t, Growth*> by_line;
  for (Growth& growth : growing) {
    if (growth.what.empty() && growth.bytes > 0) by_line[line_of(growth.origin)] = &growth;
  }
  if (by_line.empty()) return;
  using Holder = std::tuple<std::uint32_t, std::uint32_t, HolderKind>;  // of a line: by a line
  std::map<Holder, GrowthHolder> others;
  std::map<std::uint32_t, std::pair<std::int64_t, std::int64_t>> kept;  // all, and by their makers
  const std::int64_t last = marks_.last() - 1;
  for (const TensorLife& tensor : history_.tensors) {
    const StorageLife& life = history_.storages[tensor.storage];
    if (life.birth_ns > last || life.death_ns <= last) continue;
    const std::uint32_t line = line_of(life.origin);
    const auto growth = by_line.find(line);
    if (growth == by_line.end() || life.birth_ns < growth->second->since_ns) continue;
    if (tensor.is_first) ++kept[line].first;
    if (!tensor.holds_at(last)) continue;
    if (tensor.is_first && tensor.kind == HolderKind::user) {
      ++kept[line].second;
      continue;
    }
    GrowthHolder& holder = others[Holder(line, line_of(tensor.origin), tensor.kind)];
    holder.kind = tensor.kind;
    holder.origin = tensor.origin;
    ++holder.storages;
  }
  for (const auto& [key, holder] : others) {
    const auto& [all, own] = kept[std::get<0>(key)];
    if (2 * own < all) by_line[std::get<0>(key)]->holders.push_back(holder);
  }
  for (const auto& [line, growth] : by_line) {
    std::stable_sort(
        growth->holders.begin(), growth->holders.end(),
        [](const GrowthHolder& a, const GrowthHolder& b) { return a.storages > b.storages; });
  }
}

/// Graph nodes, traces, values of tapes.
void Judge::add_things(std::vector<Growth>& growing) const {
  for (const auto& [origin, counts] : history_.things) {
    std::vector<Step> changes;
    std::int64_t before = 0;
    for (const ThingCount& count : counts) {
      changes.push_back({count.time_ns, kStorages, count.number - before});
      before = count.number;
    }
    // At a mark it was told just before.
    const std::optional<Rise> rise = rise_at_end(levels_of(changes, kStorages, marks_));
    if (!rise) continue;
    growing.push_back({.origin = origin,
                       .what = std::string(history_.recorded.origin(origin).op),
                       .things_per_step = rise->each,
                       .since_step = static_cast<std::int64_t>(rise->since),
                       .since_ns = marks_.times[rise->since],
                       .number = rise->by,
                       .things = rise->by});
  }
}

std::vector<Growth> Judge::growing() {
  find_rises();
  drop_what_others_lost();
  blame_largest();
  if (!marks_.is_marked) drop_what_is_used();
  if (marks_.thread) drop_what_ended_or_was_used_since();
  std::vector<Growth> growing;
  for (const Line& line : lines_) {
    if (line.rises_at_all()) growing.push_back(describe(line));
  }
  choose_origins(growing);
  find_callers(growing);
  find_holders(growing);
  if (!marks_.thread) add_things(growing);
  std::stable_sort(growing.begin(), growing.end(), [](const Growth& a, const Growth& b) {
    return a.bytes_per_step != b.bytes_per_step ? a.bytes_per_step > b.bytes_per_step
                                                : a.number > b.number;
  });
  return growing;
}

}  // namespace

std::vector<Growth> growing_lines(const History& history, const Marks& marks) {
  return Judge(history, marks).growing();
}

}  // namespace tenure::profile
