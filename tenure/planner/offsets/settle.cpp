#include <algorithm>
#include <bit>

#include "tenure/planner/offsets/search.h"

namespace tenure::planner::offsets {

/// The sections around `section` with the same floor.
Search::Range Search::flat(Range range, int section) const {
  Range level{section, section + 1};
  const Units floor = floor_[at(section)];
  while (level.begin > range.begin && floor_[at(level.begin - 1)] == floor) --level.begin;
  while (level.end < range.end && floor_[at(level.end)] == floor) ++level.end;
  return level;
}

/// How far to both sides the floor is no higher than at `level`.
Search::Range Search::between_walls(Range range, Range level) const {
  const Units floor = floor_[at(level.begin)];
  while (level.begin > range.begin && floor_[at(level.begin - 1)] <= floor) --level.begin;
  while (level.end < range.end && floor_[at(level.end)] <= floor) ++level.end;
  return level;
}

Units Search::lower_wall(Range range, Range inside) const {
  return std::min(inside.begin > range.begin ? floor_[at(inside.begin - 1)] : kUnreachable,
                  inside.end < range.end ? floor_[at(inside.end)] : kUnreachable);
}

/// The sections whose options may be others after floors in `changed` rose to `level`: those that
/// could see it without looking over something higher, and the walls themselves, which may border
/// on a valley of their own now.
Search::Range Search::around(Range range, Range changed, Units level) const {
  while (changed.begin > range.begin && floor_[at(changed.begin - 1)] <= level) --changed.begin;
  while (changed.end < range.end && floor_[at(changed.end)] <= level) ++changed.end;
  if (changed.begin > range.begin) changed.begin = flat(range, changed.begin - 1).begin;
  if (changed.end < range.end) changed.end = flat(range, changed.end).end;
  return changed;
}

/// Splits the unplaced blocks that lie within `inside` into those that may lie at `level` and those
/// that their alignment or fixed offset keeps from it.
void Search::collect_inside(Range inside, Units level) {
  const auto begin = at(first_[at(inside.begin)]);
  const auto end = at(first_[at(inside.end)]);
  first_word_ = begin / 64;
  last_word_ = (end + 63) / 64;
  const Word* const ended = until(inside.end);
  for (std::size_t w = first_word_; w < last_word_; ++w) inside_[w] = unplaced_[w] & ended[w];
  if (first_word_ < last_word_) inside_[first_word_] &= ~Word{0} << (begin % 64);
  higher_.clear();
  if (!any_special_) return;
  for (std::size_t w = first_word_; w < last_word_; ++w) {
    for (Word rest = inside_[w] & special_[w]; rest != 0; rest &= rest - 1) {
      const int block = static_cast<int>(w * 64) + std::countr_zero(rest);
      if (blocks_[at(block)].offset_from(level) == level) continue;
      inside_[w] &= ~bit(block);
      higher_.push_back(block);
    }
  }
}

/// No floor has risen above a fixed block that is still to be placed on it.
bool Search::keeps_fixed(Range level) const {
  const Units floor = floor_[at(level.begin)];
  for (int s = level.begin; s < level.end; ++s) {
    for (std::size_t w = 0; w < words_; ++w) {
      for (Word rest = unplaced_[w] & special_[w] & cover(s)[w]; rest != 0; rest &= rest - 1) {
        const Block& block = blocks_[w * 64 + static_cast<std::size_t>(std::countr_zero(rest))];
        if (block.fixed != kAnywhere && block.fixed < floor) return false;
      }
    }
  }
  return true;
}

/// Raises the floors of `level` on which no block can lie; `raised` becomes the highest new one.
bool Search::settle_level(Range range, Range level, std::uint64_t& key, Units& raised) {
  if (any_special_ && !keeps_fixed(level)) return false;
  const Range inside = between_walls(range, level);
  const bool is_valley = inside == level;
  const Units floor = floor_[at(level.begin)];
  collect_inside(inside, floor);
  for (int s = level.begin; s < level.end; ++s) {
    int options = 0;
    const Word* const covering = cover(s);
    for (std::size_t w = first_word_; w < last_word_; ++w)
      options += std::popcount(inside_[w] & covering[w]);
    if (options > 0) {
      set_options(s, is_valley ? options : 0);
      continue;
    }
    Units next = lower_wall(range, inside);
    for (const int block : higher_) {
      const Block& other = blocks_[at(block)];
      if (other.begin <= s && s < other.end) next = std::min(next, other.offset_from(floor));
    }
    if (next - floor > slack_[at(s)]) {
      weight_[at(s)] += 1;
      return false;
    }
    key = raise(s, next, key);
    raised = std::max(raised, next);
  }
  return true;
}

/// Brings floors and options up to date where they may depend on what changed.
bool Search::settle(Range range, Range changed, std::uint64_t& key) {
  Units level = 0;
  for (int s = changed.begin; s < changed.end; ++s) {
    if (floor_[at(s)] != kUnreachable) level = std::max(level, floor_[at(s)]);
  }
  Range dirty = around(range, changed, level);
  for (int s = dirty.begin; s < dirty.end;) {
    const Range here = flat(range, s);
    s = here.end;
    if (floor_[at(here.begin)] == kUnreachable) {
      for (int t = here.begin; t < here.end; ++t) set_options(t, 0);
      continue;
    }
    Units raised = -1;
    if (!settle_level(range, here, key, raised)) return false;
    if (raised < 0) continue;
    const Range more = around(range, here, raised);
    dirty = {std::min(dirty.begin, more.begin), std::max(dirty.end, more.end)};
    s = more.begin;
  }
  return true;
}

/// The lowest level above a valley's floor at which something may lie over `section`, if nothing
/// lies on the floor there: on a wall, on a block beside the section, or where its alignment wants.
Units Search::next_level(Range range, int section, Range valley) const {
  const Units floor = floor_[at(section)];
  Units next = lower_wall(range, valley);
  for (int i = first_[at(valley.begin)]; i < first_[at(valley.end)]; ++i) {
    const Block& block = blocks_[at(i)];
    if (block.end > valley.end || !is_unplaced(i)) continue;
    if (section < block.begin || block.end <= section) {
      next = std::min(next, floor + block.size);
    } else if (const Units offset = block.offset_from(floor); offset > floor) {
      next = std::min(next, offset);
    }
  }
  return next;
}

}  // namespace tenure::planner::offsets
