#include "tenure/graph/place/in_parts.h"

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/passes/split.h"
#include "tenure/graph/place/shared_buffer.h"

namespace tenure::graph {
namespace {

/// Arrangements that a search looks at for each of the rungs that it begins with, times units; and
/// how often it changes one.
constexpr int kLooks = 60'000;
constexpr int kChanges = 24;
/// Units that a group grows by, and those that cannot run in parts which it may leave out in a row.
constexpr int kGrowth = 32;
constexpr int kSkipped = 8;

/// Which units are computed, in which order, and which of them in parts.
struct Draft {
  std::vector<int> word{};
  std::vector<PartGroup> groups{};
};

/// A draft and what it holds in the arena, gaps apart.
struct Judged {
  Draft draft{};
  std::unique_ptr<Lowered> base{};   ///< without parts: a unit for each place of the word
  std::vector<std::int64_t> live{};  ///< per step
  std::int64_t peak = 0;
  int step = 0;             ///< the first that holds as much
  std::int64_t excess = 0;  ///< what steps hold that are near the peak

  bool is_below(const Judged& other) const {
    return std::tie(peak, excess) < std::tie(other.peak, other.excess);
  }
};

/// Puts a unit into the word, as the first of a group.
void insert(Draft& draft, std::size_t group, int unit) {
  const int place = draft.groups[group].begin;
  draft.word.insert(draft.word.begin() + place, unit);
  for (std::size_t g = 0; g < draft.groups.size(); ++g) {
    if (draft.groups[g].begin >= place && g != group) ++draft.groups[g].begin;
    if (draft.groups[g].end > place) ++draft.groups[g].end;
  }
}

/// Takes a place out of the word.
void erase(Draft& draft, int place) {
  draft.word.erase(draft.word.begin() + place);
  for (PartGroup& group : draft.groups) {
    if (group.begin > place) --group.begin;
    if (group.end > place) --group.end;
  }
  std::erase_if(draft.groups, [](const PartGroup& group) { return group.begin == group.end; });
}

class SearchInParts {
 public:
  SearchInParts(const Lowered& lowered, const Rung& from)
      : lowered_(lowered),
        looks_(1 + kLooks / static_cast<int>(lowered.units.size())),
        best_(*judge({from.word, from.groups})) {}

  std::vector<Rung> run() && {
    for (int i = 0; i < kChanges && looks_ > 0; ++i) {
      std::optional<Judged> better = grow();
      std::optional<Judged> pulled = pull();
      if (pulled && (!better || pulled->is_below(*better))) better = std::move(pulled);
      if (!better) break;
      best_ = std::move(*better);
      add_rung(best_.draft);
    }
    return std::move(rungs_);
  }

 private:
  /// Nothing if its groups cannot be, or it has been looked at enough.
  std::optional<Judged> judge(Draft draft) {
    if (--looks_ < 0) return std::nullopt;
    Judged judged{.draft = std::move(draft)};
    judged.base = repeat_units(lowered_, judged.draft.word);
    for (const PartGroup& group : judged.draft.groups) {
      if (!can_split(*judged.base, group)) return std::nullopt;
    }
    judged.live = live_in_arena(*split_units(*judged.base, judged.draft.groups));
    const auto highest = std::max_element(judged.live.begin(), judged.live.end());
    judged.peak = *highest;
    judged.step = static_cast<int>(highest - judged.live.begin());
    for (const std::int64_t bytes : judged.live) {
      judged.excess += std::max<std::int64_t>(bytes - judged.peak / 10 * 9, 0);
    }
    return judged;
  }

  /// The better one of two.
  static void take_lower(std::optional<Judged>& best, std::optional<Judged> other) {
    if (other && (!best || other->is_below(*best))) best = std::move(other);
  }

  /// Units from `begin` to `end` as a group, with those of groups that they meet. What cannot run
  /// in parts goes before it or, if it needs something of the group, behind it.
  std::optional<Draft> grouped(int begin, int end, int parts) const {
    Draft draft = best_.draft;
    for (bool is_same = false; !is_same;) {
      is_same = true;
      for (const PartGroup& group : draft.groups) {
        if (group.end <= begin || group.begin >= end) continue;
        is_same &= group.begin >= begin && group.end <= end;
        begin = std::min(begin, group.begin);
        end = std::max(end, group.end);
      }
    }
    std::erase_if(draft.groups,
                  [&](const PartGroup& group) { return group.end > begin && group.begin < end; });
    std::array<std::vector<int>, 3> words;  // before, in and behind the group
    GroupBuilder builder(*best_.base, parts);
    std::vector<bool> is_behind(best_.base->units.size());
    for (int u = begin; u < end; ++u) {
      const Unit& unit = best_.base->units[at(u)];
      const bool must_wait = std::any_of(unit.in.begin(), unit.in.end(), [&](const Layout& in) {
        const int writer = best_.base->buffers[at(in.buffer)].unit;
        return writer >= 0 && is_behind[at(writer)];
      });
      const bool is_in = !must_wait && builder.add(unit);
      is_behind[at(u)] = must_wait || (!is_in && builder.feeds(unit));
      words[is_in ? 1 : is_behind[at(u)] ? 2 : 0].push_back(draft.word[at(u)]);
    }
    if (words[1].empty()) return std::nullopt;
    const int first = begin + static_cast<int>(words[0].size());
    auto place = draft.word.begin() + begin;
    for (const std::vector<int>& word : words) place = std::copy(word.begin(), word.end(), place);
    draft.groups.push_back({first, first + static_cast<int>(words[1].size()), parts});
    std::sort(draft.groups.begin(), draft.groups.end(),
              [](const PartGroup& a, const PartGroup& b) { return a.begin < b.begin; });
    return draft;
  }

  std::optional<Judged> judge_group(int begin, int end, int parts) {
    std::optional<Draft> draft = grouped(begin, end, parts);
    return draft ? judge(std::move(*draft)) : std::nullopt;
  }

  /// The next unit in a direction that can run in parts; nothing if there is none near.
  std::optional<int> next_to(int unit, int by, int parts) const {
    const int end = static_cast<int>(best_.base->units.size());
    for (int i = 0; i < kSkipped; ++i, unit += by) {
      if (unit < 0 || unit >= end) return std::nullopt;
      if (cut_of(best_.base->units[at(unit)], parts)) return unit;
    }
    return std::nullopt;
  }

  /// A group around the step that holds the most.
  std::optional<Judged> grow() {
    const int step = best_.step;
    const std::vector<int> counts = part_counts(best_.base->units[at(step)]);
    if (counts.empty()) return std::nullopt;
    const int parts = counts[std::min<std::size_t>(counts.size() - 1, 2)];
    std::pair<int, int> range{step, step + 1};
    std::pair<int, int> best_range = range;
    std::optional<Judged> best;
    take_lower(best, judge_group(range.first, range.second, parts));
    for (int i = 0; i < kGrowth; ++i) {
      std::optional<Judged> found;
      std::pair<int, int> next = range;
      if (const auto first = next_to(range.first - 1, -1, parts)) {
        found = judge_group(*first, range.second, parts);
        next = {*first, range.second};
      }
      if (const auto last = next_to(range.second, 1, parts)) {
        std::optional<Judged> other = judge_group(range.first, *last + 1, parts);
        if (other && (!found || other->is_below(*found))) {
          found = std::move(other);
          next = {range.first, *last + 1};
        }
      }
      if (!found) break;
      range = next;
      if (best && !found->is_below(*best)) continue;
      best = std::move(found);
      best_range = range;
    }
    if (!best || !best->is_below(best_)) return std::nullopt;
    // Few parts are fast, many are small.
    std::optional<Judged> lowest;
    for (const int count : counts) {
      std::optional<Judged> found = judge_group(best_range.first, best_range.second, count);
      if (!found || !found->is_below(best_)) continue;
      add_rung(found->draft);
      const bool is_lower = !lowest || found->peak < lowest->peak - lowest->peak / 50;
      if (is_lower) lowest = std::move(found);
    }
    return lowest;
  }

  /// Has groups compute again what is held for them at the step that holds the most.
  std::optional<Judged> pull() {
    std::optional<Judged> best;
    for (std::size_t g = 0; g < best_.draft.groups.size(); ++g) {
      const PartGroup group = best_.draft.groups[g];
      std::vector<int> writers;
      for (int u = group.begin; u < group.end; ++u) {
        for (const Layout& in : best_.base->units[at(u)].in) {
          const int writer = best_.base->buffers[at(in.buffer)].unit;
          const bool is_held =
              writer >= 0 && writer < group.begin && writer <= best_.step && best_.step < group.end;
          if (is_held && std::find(writers.begin(), writers.end(), writer) == writers.end()) {
            writers.push_back(writer);
          }
        }
      }
      for (const int writer : writers) {
        if (!cut_of(best_.base->units[at(writer)], group.parts)) continue;
        take_lower(best, judge(computed_in(g, writer)));
      }
    }
    if (!best || !best->is_below(best_)) return std::nullopt;
    return best;
  }

  /// The draft in which a group begins with a unit from before it; that one is left out if nobody
  /// else reads it.
  Draft computed_in(std::size_t g, int writer) const {
    Draft draft = best_.draft;
    const PartGroup group = draft.groups[g];
    const auto reads = [&](const Unit& unit) {
      return std::any_of(unit.in.begin(), unit.in.end(), [&](const Layout& in) {
        return best_.base->buffers[at(in.buffer)].unit == writer;
      });
    };
    bool is_read = false;
    for (int u = 0; u < static_cast<int>(best_.base->units.size()); ++u) {
      if (u < group.begin || u >= group.end) is_read |= reads(best_.base->units[at(u)]);
    }
    insert(draft, g, draft.word[at(writer)]);
    if (!is_read) erase(draft, writer);
    return draft;
  }

  void add_rung(const Draft& draft) {
    Rung rung{.word = draft.word, .groups = draft.groups};
    const std::unique_ptr<Lowered> made = program_of(lowered_, rung);
    rung.placement = place_in_order(*made);
    rung.peak = peak_of(*made, rung.placement);
    rung.added = std::max<std::int64_t>(added_cost(lowered_, *made), 1);
    rungs_.push_back(std::move(rung));
  }

  const Lowered& lowered_;
  int looks_;
  Judged best_;
  std::vector<Rung> rungs_;
};

}  // namespace

std::vector<Rung> rungs_in_parts(const Lowered& lowered, const Ladder& ladder) {
  std::vector<Rung> found;
  if (lowered.units.empty()) return found;
  const std::size_t last = ladder.rungs.size() - 1;
  std::vector<std::size_t> begins{0, last / 3, last - last / 3, last};
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  for (const std::size_t begin : begins) {
    for (Rung& rung : SearchInParts(lowered, ladder.rungs[begin]).run()) {
      found.push_back(std::move(rung));
    }
  }
  return found;
}

}  // namespace tenure::graph
