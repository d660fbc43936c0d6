#include "tenure/profile/growth_judge.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "tenure/memory/accounts/rise.h"
#include "tenure/profile/growth_evidence.h"
#include "tenure/profile/growth_lines.h"

namespace tenure::profile {
namespace {

using mem::Rise;
using mem::Window;

std::vector<Window> negative(std::vector<Window> levels) {
  for (Window& window : levels) window = {.low = -window.high, .high = -window.low};
  return levels;
}

/// Without marks, things are told now and then: fewer moments, so that there is news between two.
Marks thinned(const Marks& moments, std::size_t told) {
  constexpr std::size_t kFewest = 20;  // windows, of which sixteen must rise
  const std::size_t n = std::clamp(told / 2, std::min(kFewest, moments.size()), moments.size());
  Marks marks{.is_marked = false, .times = {}};
  for (std::size_t i = 0; i <= n; ++i) marks.times.push_back(moments.times[moments.size() * i / n]);
  return marks;
}

/// Judges one loop.
class Judge {
 public:
  Judge(const History& history, const Marks& marks)
      : history_(history), marks_(marks), lines_(history, marks) {}
  std::vector<Growth> growing();

 private:
  void find_rises();
  void drop_what_others_lost();
  void blame_largest();
  void drop_what_is_used();
  void drop_what_ended_or_was_used_since();
  Growth describe(const LineLevels& line) const;
  void add_things(std::vector<Growth>& growing) const;

  const History& history_;
  const Marks& marks_;
  Lines lines_;
};

void Judge::find_rises() {
  for (LineLevels& line : lines_.all()) {
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
    for (LineLevels& line : lines_.all()) {
      if (line.rises[m]) risen += line.rises[m]->each;
    }
    if (risen == 0) continue;
    for (LineLevels& line : lines_.all()) {
      if (line.rows >= 0) continue;
      sort_by_time(line.changes);
      const auto fall =
          rise_at_end(negative(levels_of(line.changes, static_cast<Measure>(m), marks_)));
      if (fall) fallen += fall->each;
    }
    if (2 * fallen < risen) continue;
    for (LineLevels& line : lines_.all()) line.rises[m].reset();
  }
}

/// Where all lines together grow and none of them does by itself, those that have most more.
void Judge::blame_largest() {
  if (std::any_of(lines_.all().begin(), lines_.all().end(),
                  [](const LineLevels& l) { return l.rises_at_all(); })) {
    return;
  }
  constexpr std::size_t kBlamed = 5;
  for (const Measure measure : {kBytes, kStorages, kSharers}) {
    std::vector<LevelStep> all;
    for (const LineLevels& line : lines_.all()) {
      for (const LevelStep& step : line.changes) {
        if (step.measure == measure) all.push_back(step);
      }
    }
    sort_by_time(all);
    const std::optional<Rise> total = rise_at_end(levels_of(all, measure, marks_));
    if (!total) continue;
    const std::int64_t since = marks_.times[total->since];
    std::vector<std::pair<std::int64_t, LineLevels*>> more;
    for (LineLevels& line : lines_.all()) {
      std::int64_t by = 0;
      for (const LevelStep& step : line.changes) {
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
  std::vector<std::pair<std::int64_t, std::int64_t>> kept(
      lines_.all().size());  // and of these, idle
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!lines_.counts(i) || life.birth_ns >= marks_.last() || life.death_ns < marks_.last()) {
      continue;
    }
    const std::uint32_t line = lines_.line_of(life.origin);
    const std::optional<Rise>& rise = lines_.all()[line].rises[kStorages];
    if (!rise) continue;
    const std::size_t length = marks_.size() - rise->since;
    const std::int64_t half = marks_.times[rise->since + length / 2];
    const std::int64_t late = marks_.times[rise->since + length * 3 / 4];
    if (life.birth_ns < marks_.times[rise->since] || life.birth_ns > half) continue;
    ++kept[line].first;
    if (life.last_use_ns < late) ++kept[line].second;
  }
  for (std::size_t i = 0; i < lines_.all().size(); ++i) {
    if (!lines_.all()[i].rises[kStorages]) continue;
    if (kept[i].second * 4 >= kept[i].first * 3 && kept[i].first > 0) continue;
    lines_.all()[i].rises[kBytes].reset();
    lines_.all()[i].rises[kStorages].reset();
  }
}

void Judge::drop_what_ended_or_was_used_since() {
  for (std::size_t i = 0; i < history_.storages.size(); ++i) {
    const StorageLife& life = history_.storages[i];
    if (!lines_.counts(i) || life.death_ns < marks_.last()) continue;
    if (life.birth_ns >= marks_.last()) continue;  // it was made then, and used at once
    if (life.is_live() && life.last_use_ns <= marks_.last()) continue;
    lines_.all()[lines_.line_of(life.origin)].rises = {};
  }
}

Growth Judge::describe(const LineLevels& line) const {
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

/// Graph nodes, traces, values of tapes.
void Judge::add_things(std::vector<Growth>& growing) const {
  for (const auto& [origin, counts] : history_.things) {
    std::vector<LevelStep> changes;
    std::int64_t before = 0;
    for (const ThingCount& count : counts) {
      changes.push_back({count.time_ns, kStorages, count.number - before});
      before = count.number;
    }
    // At a mark it was told just before.
    const Marks marks = marks_.is_marked ? marks_ : thinned(marks_, counts.size());
    const std::optional<Rise> rise = rise_at_end(levels_of(changes, kStorages, marks));
    if (!rise) continue;
    const std::int64_t since = marks.times[rise->since];
    const auto bytes_at = [&counts = counts](std::int64_t time) {
      std::int64_t bytes = 0;
      for (const ThingCount& count : counts) bytes = count.time_ns < time ? count.bytes : bytes;
      return bytes;
    };
    growing.push_back(
        {.origin = origin,
         .what = std::string(history_.recorded.origin(origin).op),
         .things_per_step = rise->each,
         .since_step = static_cast<std::int64_t>(rise->since),
         .since_ns = since,
         .number = rise->by,
         .things = rise->by,
         .thing_bytes = std::max<std::int64_t>(bytes_at(marks_.last()) - bytes_at(since), 0)});
  }
}

std::vector<Growth> Judge::growing() {
  find_rises();
  drop_what_others_lost();
  blame_largest();
  if (!marks_.is_marked) drop_what_is_used();
  if (marks_.thread) drop_what_ended_or_was_used_since();
  std::vector<Growth> growing;
  for (const LineLevels& line : lines_.all()) {
    if (line.rises_at_all()) growing.push_back(describe(line));
  }
  Evidence(history_, lines_, marks_.last()).add_to(growing);
  if (!marks_.thread) add_things(growing);
  name_tapes(growing);
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
