#include <algorithm>
#include <bit>
#include <map>
#include <tuple>

#include "tenure/planner/offsets/search.h"

namespace tenure::planner::offsets {

Search::Search(const Instance& instance)
    : blocks_(instance.blocks),
      sections_(instance.sections),
      words_((instance.blocks.size() + 63) / 64),
      twin_(instance.blocks.size(), -1),
      first_(at(instance.sections) + 1, 0),
      cover_(at(instance.sections) * words_, 0),
      until_((at(instance.sections) + 1) * words_, 0),
      special_(words_, 0),
      total_(at(instance.sections), 0),
      unplaced_(words_, 0),
      floor_(at(instance.sections), 0),
      slack_(at(instance.sections), 0),
      left_(at(instance.sections), 0),
      crossing_(at(instance.sections), 0),
      options_(at(instance.sections), 0),
      offsets_(instance.blocks.size(), 0),
      inside_(words_, 0),
      weight_(at(instance.sections), 1.0),
      rank_(instance.blocks.size(), 0.0) {
  std::map<std::tuple<int, int, Units, Units, Units>, int> seen;
  for (int i = 0; i < static_cast<int>(blocks_.size()); ++i) {
    const Block& block = blocks_[at(i)];
    const std::size_t word = at(i) / 64;
    unplaced_[word] |= bit(i);
    until_[at(block.end) * words_ + word] |= bit(i);
    if (block.alignment > 1 || block.fixed != kAnywhere) {
      special_[word] |= bit(i);
      any_special_ = true;
    }
    for (int s = block.begin; s < block.end; ++s) {
      cover_[at(s) * words_ + word] |= bit(i);
      total_[at(s)] += block.size;
      ++left_[at(s)];
      if (s > block.begin) ++crossing_[at(s)];
    }
    const auto [twin, is_new] =
        seen.try_emplace({block.begin, block.end, block.size, block.alignment, block.fixed}, i);
    if (!is_new) twin_[at(i)] = std::exchange(twin->second, i);
  }
  for (int s = 0; s < sections_; ++s) {
    for (std::size_t w = 0; w < words_; ++w)
      until_[at(s + 1) * words_ + w] |= until_[at(s) * words_ + w];
  }
  for (int s = 0, block = 0; s <= sections_; ++s) {
    while (block < static_cast<int>(blocks_.size()) && blocks_[at(block)].begin < s) ++block;
    first_[at(s)] = block;
  }
}

void Search::set_capacity(Units capacity) {
  undo(0);
  // Slacks say how far blocks may rise, wherever the top is: what was learnt holds at any capacity,
  // unless absolute offsets matter.
  if (any_special_ && capacity != capacity_) nogoods_.clear();
  capacity_ = capacity;
  for (std::size_t s = 0; s < total_.size(); ++s) slack_[s] = capacity - total_[s];
}

std::uint64_t Search::place(int block, Units level, std::uint64_t key) {
  const Block& placed = blocks_[at(block)];
  unplaced_[at(block) / 64] &= ~bit(block);
  offsets_[at(block)] = level;
  trail_.push_back({Undo::Kind::place, block, level});
  for (int s = placed.begin; s < placed.end; ++s) {
    if (--left_[at(s)] == 0) {
      key ^= slack_key(s);  // It matters no more.
      floor_[at(s)] = kUnreachable;
    } else {
      floor_[at(s)] = level + placed.size;
    }
    if (s > placed.begin) --crossing_[at(s)];
  }
  return key ^ mix(at(block));
}

std::uint64_t Search::raise(int section, Units level, std::uint64_t key) {
  key ^= slack_key(section);
  trail_.push_back({Undo::Kind::raise, section, floor_[at(section)]});
  slack_[at(section)] -= level - floor_[at(section)];
  floor_[at(section)] = level;
  return key ^ slack_key(section);
}

void Search::set_options(int section, int options) {
  if (options_[at(section)] == options) return;
  trail_.push_back({Undo::Kind::options, section, options_[at(section)]});
  options_[at(section)] = options;
}

void Search::undo(std::size_t mark) {
  while (trail_.size() > mark) {
    const Undo last = trail_.back();
    trail_.pop_back();
    if (last.kind == Undo::Kind::options) {
      options_[at(last.index)] = static_cast<int>(last.value);
    } else if (last.kind == Undo::Kind::raise) {
      slack_[at(last.index)] += floor_[at(last.index)] - last.value;
      floor_[at(last.index)] = last.value;
    } else {
      const Block& placed = blocks_[at(last.index)];
      unplaced_[at(last.index) / 64] |= bit(last.index);
      for (int s = placed.begin; s < placed.end; ++s) {
        ++left_[at(s)];
        floor_[at(s)] = last.value;
        if (s > placed.begin) ++crossing_[at(s)];
      }
    }
  }
}

std::uint64_t Search::slack_key(int section) const {
  return mix(mix(static_cast<std::uint64_t>(slack_[at(section)])) + ~at(section));
}

std::uint64_t Search::key_of(Range range) const {
  std::uint64_t key = 0;
  for (int i = first_[at(range.begin)]; i < first_[at(range.end)]; ++i) {
    if (is_unplaced(i)) key ^= mix(at(i));
  }
  for (int s = range.begin; s < range.end; ++s) {
    if (left_[at(s)] > 0) key ^= slack_key(s);
  }
  return key;
}

void Search::prefer(std::uint64_t preference) {
  Units largest = 1;
  for (const Block& block : blocks_) largest = std::max(largest, block.size);
  Random random(preference);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const double size = static_cast<double>(blocks_[i].size) / static_cast<double>(largest);
    const double length = static_cast<double>(blocks_[i].end - blocks_[i].begin) / sections_;
    rank_[i] = preference % 2 == 0 ? size + length / 1024 : length + size / 1024;
    if (preference > 1) rank_[i] *= 0.5 + random.uniform();
  }
}

}  // namespace tenure::planner::offsets
