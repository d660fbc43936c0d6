#include "tenure/planner/offsets/search.h"

#include <algorithm>
#include <bit>

namespace tenure::planner::offsets {
namespace {

// Recursion ends before the thread's stack does.
constexpr int kDeepest = 4'096;
constexpr std::int64_t kStepsPerClock = 256;
constexpr int kSectionsPerStep = 128;

}  // namespace

Search::Outcome Search::run(std::int64_t steps, std::uint64_t preference,
                            const std::function<bool()>& expired) {
  undo(0);
  for (const Units slack : slack_) {
    if (slack < 0) return Outcome::impossible;
  }
  for (const Block& block : blocks_) {
    if (block.fixed != kAnywhere && block.fixed + block.size > capacity_)
      return Outcome::impossible;
  }
  prefer(preference);
  limit_ = steps_ + steps;
  expired_ = &expired;
  cut_off_ = false;
  depth_ = 0;
  candidates_.clear();
  const Range all{0, sections_};
  if (solve(all, key_of(all), all)) return Outcome::found;
  return cut_off_ ? Outcome::cut_off : Outcome::impossible;
}

/// A step of a long range takes longer: it counts for more, so that a search of so many steps takes
/// about the same time for problems of all sizes.
bool Search::out_of_steps(Range range) {
  const std::int64_t steps = 1 + (range.end - range.begin) / kSectionsPerStep;
  steps_ += steps;
  since_clock_ += steps;
  const bool looks = since_clock_ >= kStepsPerClock;
  if (looks) since_clock_ = 0;
  if (steps_ > limit_ || depth_ > kDeepest || (looks && (*expired_)())) cut_off_ = true;
  return cut_off_;
}

/// Places the unplaced blocks of `range`, which begins and ends where nothing crosses.
bool Search::solve(Range range, std::uint64_t key, Range changed) {
  for (int s = std::max(changed.begin, range.begin + 1); s < changed.end; ++s) {
    if (crossing_[at(s)] == 0) return solve_parts(range);
  }
  return branch(range, key, changed);
}

/// The parts have nothing to do with each other: if one has no solution, the others' choices are
/// not to blame. The smallest is the first to be tried.
bool Search::solve_parts(Range range) {
  struct Part {
    int blocks;
    Range range;
  };
  std::vector<Part> parts;
  for (int s = range.begin; s < range.end;) {
    Part part{left_[at(s)], {s, s + 1}};
    for (++s; s < range.end && crossing_[at(s)] > 0; ++s)
      part.blocks += left_[at(s)] - crossing_[at(s)];
    part.range.end = s;
    if (part.blocks > 0) parts.push_back(part);
  }
  std::stable_sort(parts.begin(), parts.end(),
                   [](const Part& a, const Part& b) { return a.blocks < b.blocks; });
  const std::size_t mark = trail_.size();
  for (const Part& part : parts) {
    if (branch(part.range, key_of(part.range), part.range)) continue;
    undo(mark);
    return false;
  }
  return true;
}

bool Search::branch(Range range, std::uint64_t key, Range changed) {
  if (out_of_steps(range) || nogoods_.contains(key)) return false;
  const std::size_t mark = trail_.size();
  std::uint64_t settled = key;
  if (settle(range, changed, settled)) {
    const int section = choose(range);
    if (section < 0) return true;  // Nothing is left to place.
    const Range valley = flat(range, section);
    ++depth_;
    const bool found = try_blocks(range, settled, section, valley) ||
                       (!cut_off_ && try_gap(range, settled, section, valley));
    --depth_;
    if (found) return true;
  }
  undo(mark);
  if (!cut_off_) nogoods_.insert(key);
  return false;
}

/// The section of a valley with the fewest answers, in proportion to the failures that it caused;
/// -1 where there is no valley. With much slack a gap counts more: it may be of many heights.
int Search::choose(Range range) const {
  int best = -1;
  double best_score = 0;
  for (int s = range.begin; s < range.end; ++s) {
    const int options = options_[at(s)];
    if (options == 0) continue;
    const Units slack = slack_[at(s)];
    if (options == 1 && slack == 0) return s;
    double answers = options;
    if (slack > 0) {
      answers +=
          1 + std::min(2.0, 32 * static_cast<double>(slack) / static_cast<double>(capacity_));
    }
    const double score = answers / weight_[at(s)];
    if (best < 0 || score < best_score || (score == best_score && slack < slack_[at(best)])) {
      best = s;
      best_score = score;
    }
  }
  return best;
}

/// Pushes the blocks that may lie on the valley's floor over `section`, the most promising last: it
/// fills the valley's width, or levels the floor with a wall.
void Search::list_candidates(Range range, int section, Range valley) {
  const Units floor = floor_[at(section)];
  const Units left = valley.begin > range.begin ? floor_[at(valley.begin - 1)] : kUnreachable;
  const Units right = valley.end < range.end ? floor_[at(valley.end)] : kUnreachable;
  const auto mark = static_cast<std::ptrdiff_t>(candidates_.size());
  collect_inside(valley, floor);
  for (std::size_t w = first_word_; w < last_word_; ++w) {
    for (Word rest = inside_[w] & cover(section)[w]; rest != 0; rest &= rest - 1) {
      const int i = static_cast<int>(w * 64) + std::countr_zero(rest);
      if (twin_[at(i)] >= 0 && is_unplaced(twin_[at(i)])) continue;  // Its twin does as well.
      const Block& block = blocks_[at(i)];
      const bool at_left = block.begin == valley.begin;
      const bool at_right = block.end == valley.end;
      const Units top = floor + block.size;
      double rank = rank_[at(i)];
      if (at_left && at_right) {
        rank *= 2;
      } else if (at_left || at_right) {
        rank *= 1.4;
      }
      if ((at_left && top == left) || (at_right && top == right)) rank *= 4;
      candidates_.emplace_back(rank, i);
    }
  }
  std::sort(candidates_.begin() + mark, candidates_.end());
}

bool Search::try_blocks(Range range, std::uint64_t key, int section, Range valley) {
  const Units floor = floor_[at(section)];
  const std::size_t base = candidates_.size();
  const std::size_t mark = trail_.size();
  list_candidates(range, section, valley);
  bool found = false;
  for (std::size_t i = candidates_.size(); i-- > base && !found && !cut_off_;) {
    const int block = candidates_[i].second;
    const std::uint64_t next = place(block, floor, key);
    found = solve(range, next, {blocks_[at(block)].begin, blocks_[at(block)].end});
    if (!found) undo(mark);
  }
  candidates_.resize(base);
  return found;
}

bool Search::try_gap(Range range, std::uint64_t key, int section, Range valley) {
  if (slack_[at(section)] == 0) return false;
  const Units next = next_level(range, section, valley);
  if (next - floor_[at(section)] > slack_[at(section)]) return false;
  return branch(range, raise(section, next, key), {section, section + 1});
}

}  // namespace tenure::planner::offsets
