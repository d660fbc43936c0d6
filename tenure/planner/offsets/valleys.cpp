#include "tenure/planner/offsets/valleys.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <numeric>
#include <tuple>

#include "tenure/planner/offsets/range_max.h"

namespace tenure::planner::offsets {
namespace {

constexpr int kNever = std::numeric_limits<int>::max();

/// The last entry at or before `entry` that is not taken, or -1. Entries are shifted by one.
int last_free(std::vector<int>& skip, int entry) {
  int root = entry + 1;
  while (skip[static_cast<std::size_t>(root)] != root) {
    int& up = skip[static_cast<std::size_t>(root)];
    up = skip[static_cast<std::size_t>(up)];
    root = up;
  }
  return root - 1;
}

}  // namespace

Valleys::Valleys(const Instance& instance)
    : instance_(instance),
      bound_(instance.bound),
      begin_at_(at(instance.sections) + 1, 0),
      end_at_(at(instance.sections) + 2, 0),
      place_by_begin_(instance.blocks.size()),
      place_by_end_(instance.blocks.size()),
      penalty_(at(instance.sections), 0),
      runs_(at(instance.sections) + 1),
      need_(at(instance.sections) + 2, 0),
      offsets_(instance.blocks.size(), 0) {
  const std::vector<Block>& blocks = instance.blocks;
  RangeMax fixed(instance.sections);
  for (int i = 0; i < static_cast<int>(blocks.size()); ++i) {
    const Block& block = blocks[at(i)];
    if (block.fixed != kAnywhere) {
      offsets_[at(i)] = block.fixed;
      fixed.lift(block.begin, block.end, block.fixed + block.size);
      continue;
    }
    by_begin_.push_back(i);
    ++begin_at_[at(block.begin) + 1];
    ++end_at_[at(block.end) + 1];
  }
  for (int s = 0; s < instance.sections; ++s) base_.push_back(fixed.highest(s, s + 1));
  std::partial_sum(begin_at_.begin(), begin_at_.end(), begin_at_.begin());
  std::partial_sum(end_at_.begin(), end_at_.end(), end_at_.begin());
  by_end_ = by_begin_;
  std::sort(by_begin_.begin(), by_begin_.end(), [&](int i, int j) {
    const Block& a = blocks[at(i)];
    const Block& b = blocks[at(j)];
    return std::tie(a.begin, a.end, a.size, i) < std::tie(b.begin, b.end, b.size, j);
  });
  std::sort(by_end_.begin(), by_end_.end(), [&](int i, int j) {
    const Block& a = blocks[at(i)];
    const Block& b = blocks[at(j)];
    return std::tie(a.end, b.begin, a.size, i) < std::tie(b.end, a.begin, b.size, j);
  });
  for (int i = 0; i < static_cast<int>(by_begin_.size()); ++i) {
    place_by_begin_[at(by_begin_[at(i)])] = i;
    place_by_end_[at(by_end_[at(i)])] = i;
  }
  leaves_ = static_cast<int>(std::bit_ceil(by_begin_.size()));
}

void Valleys::reset() {
  const std::vector<Block>& blocks = instance_.blocks;
  skip_begin_.resize(by_begin_.size() + 1);
  std::iota(skip_begin_.begin(), skip_begin_.end(), 0);
  skip_end_ = skip_begin_;
  least_end_.assign(2 * at(leaves_), kNever);
  greatest_begin_.assign(2 * at(leaves_), -1);
  for (std::size_t i = 0; i < by_begin_.size(); ++i) {
    least_end_[at(leaves_) + i] = blocks[at(by_begin_[i])].end;
    greatest_begin_[at(leaves_) + i] = blocks[at(by_end_[i])].begin;
  }
  for (std::size_t i = at(leaves_) - 1; i > 0; --i) {
    least_end_[i] = std::min(least_end_[2 * i], least_end_[2 * i + 1]);
    greatest_begin_[i] = std::max(greatest_begin_[2 * i], greatest_begin_[2 * i + 1]);
  }
  std::fill(need_.begin(), need_.end(), 0);
  for (const int i : by_begin_) {
    add_need(blocks[at(i)].begin, blocks[at(i)].size);
    add_need(blocks[at(i)].end, -blocks[at(i)].size);
  }
  set_skyline();
}

/// The skyline over the fixed blocks alone.
void Valleys::set_skyline() {
  heap_.clear();
  std::fill(runs_.begin(), runs_.end(), Run{});
  for (int s = 0, previous = 0; s < instance_.sections;) {
    int end = s + 1;
    while (end < instance_.sections && base_[at(end)] == base_[at(s)]) ++end;
    runs_[at(s)] = {end, previous, base_[at(s)], true};
    heap_.emplace_back(base_[at(s)], s);
    previous = s;
    s = end;
  }
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

const std::vector<Units>& Valleys::pass(double noise, Random& random) {
  reset();
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    const auto [floor, begin] = heap_.back();
    heap_.pop_back();
    if (runs_[at(begin)].alive && runs_[at(begin)].floor == floor) fill(join(begin), noise, random);
  }
  // Where the bound was passed, less slack than there is will be seen from now on.
  std::vector<Units> change(at(instance_.sections) + 1, 0);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const Block& block = instance_.blocks[i];
    if (offsets_[i] + block.size <= bound_) continue;
    change[at(block.begin)] += 1;
    change[at(block.end)] -= 1;
  }
  Units over = 0;
  const Units step = std::max<Units>(1, bound_ / 128);
  for (std::size_t s = 0; s < penalty_.size(); ++s) {
    over += change[s];
    if (over > 0) penalty_[s] += step;
  }
  return offsets_;
}

void Valleys::forget() { std::fill(penalty_.begin(), penalty_.end(), 0); }

/// Places one block into the valley that begins at `run`, or raises a side of it.
void Valleys::fill(int run, double noise, Random& random) {
  const int begin = run;
  const int end = runs_[at(run)].next;
  const Units floor = runs_[at(run)].floor;
  const Units left = begin > 0 ? runs_[at(runs_[at(run)].previous)].floor : kUnreachable;
  const Units right = end < instance_.sections ? runs_[at(end)].floor : kUnreachable;
  const Units wall = std::min(left, right);
  const auto slack = [&](int section) { return -need(section) - penalty_[at(section)]; };
  bool at_begin = slack(begin) <= slack(end - 1);
  if (noise > 0 && random.uniform() < noise) at_begin = !at_begin;
  const int block = at_begin ? block_at_begin(begin, end) : block_at_end(begin, end);
  if (block >= 0) {
    place(run, block, floor);
  } else if (at_begin) {
    set(run, begin, first_begin(begin, end), wall);
  } else {
    set(run, last_end(begin, end), end, wall);
  }
}

/// Merges a run with its neighbours of the same floor; the first section of the result.
int Valleys::join(int run) {
  const Units floor = runs_[at(run)].floor;
  int first = run;
  while (first > 0 && runs_[at(runs_[at(first)].previous)].floor == floor) {
    runs_[at(first)].alive = false;
    first = runs_[at(first)].previous;
  }
  int next = runs_[at(run)].next;
  while (next < instance_.sections && runs_[at(next)].floor == floor) {
    runs_[at(next)].alive = false;
    next = runs_[at(next)].next;
  }
  runs_[at(first)].next = next;
  if (next < instance_.sections) runs_[at(next)].previous = first;
  return first;
}

/// Gives [begin, end), which is a part of `run`, a floor of its own.
void Valleys::set(int run, int begin, int end, Units floor) {
  const Run old = runs_[at(run)];
  int previous = old.previous;
  const auto add = [&](int from, int to, Units level) {
    if (from == to) return;
    runs_[at(from)] = {to, previous, level, true};
    if (level < kUnreachable) {
      heap_.emplace_back(level, from);
      std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    previous = from;
  };
  add(run, begin, old.floor);
  add(begin, end, floor);
  add(end, old.next, old.floor);
  if (old.next < instance_.sections) runs_[at(old.next)].previous = previous;
}

void Valleys::place(int run, int block, Units level) {
  const Block& placed = instance_.blocks[at(block)];
  const int i = place_by_begin_[at(block)];
  const int j = place_by_end_[at(block)];
  skip_begin_[at(i) + 1] = i;
  skip_end_[at(j) + 1] = j;
  least_end_[at(leaves_ + i)] = kNever;
  for (std::size_t n = at(leaves_ + i) / 2; n > 0; n /= 2)
    least_end_[n] = std::min(least_end_[2 * n], least_end_[2 * n + 1]);
  greatest_begin_[at(leaves_ + j)] = -1;
  for (std::size_t n = at(leaves_ + j) / 2; n > 0; n /= 2)
    greatest_begin_[n] = std::max(greatest_begin_[2 * n], greatest_begin_[2 * n + 1]);
  add_need(placed.begin, -placed.size);
  add_need(placed.end, placed.size);
  offsets_[at(block)] = placed.offset_from(level);
  set(run, placed.begin, placed.end, offsets_[at(block)] + placed.size);
}

/// The longest unplaced block that begins at `begin` and ends at or before `end`, or -1.
int Valleys::block_at_begin(int begin, int end) {
  const auto first = by_begin_.begin() + begin_at_[at(begin)];
  const auto past = std::partition_point(first, by_begin_.begin() + begin_at_[at(begin) + 1],
                                         [&](int i) { return instance_.blocks[at(i)].end <= end; });
  const int entry = last_free(skip_begin_, static_cast<int>(past - by_begin_.begin()) - 1);
  return entry >= begin_at_[at(begin)] ? by_begin_[at(entry)] : -1;
}

/// The longest unplaced block that ends at `end` and begins at or after `begin`, or -1.
int Valleys::block_at_end(int begin, int end) {
  const auto first = by_end_.begin() + end_at_[at(end)];
  const auto past = std::partition_point(first, by_end_.begin() + end_at_[at(end) + 1], [&](int i) {
    return instance_.blocks[at(i)].begin >= begin;
  });
  const int entry = last_free(skip_end_, static_cast<int>(past - by_end_.begin()) - 1);
  return entry >= end_at_[at(end)] ? by_end_[at(entry)] : -1;
}

/// The least begin of an unplaced block within [begin, end), or `end`.
int Valleys::first_begin(int begin, int end) const {
  std::size_t node = at(leaves_ + begin_at_[at(begin)]);
  if (begin_at_[at(begin)] == static_cast<int>(by_begin_.size())) return end;
  while (least_end_[node] > end) {
    while (node % 2 == 1) node /= 2;
    if (node == 0) return end;
    ++node;
  }
  while (node < at(leaves_)) node = least_end_[2 * node] <= end ? 2 * node : 2 * node + 1;
  return instance_.blocks[at(by_begin_[node - at(leaves_)])].begin;
}

/// The greatest end of an unplaced block within [begin, end), or `begin`.
int Valleys::last_end(int begin, int end) const {
  if (end_at_[at(end) + 1] == 0) return begin;
  std::size_t node = at(leaves_ + end_at_[at(end) + 1] - 1);
  while (greatest_begin_[node] < begin) {
    while (node % 2 == 0) node /= 2;
    if (node <= 1) return begin;
    --node;
  }
  while (node < at(leaves_))
    node = greatest_begin_[2 * node + 1] >= begin ? 2 * node + 1 : 2 * node;
  return instance_.blocks[at(by_end_[node - at(leaves_)])].end;
}

Units Valleys::need(int section) const {
  Units sum = 0;
  for (int i = section + 1; i > 0; i -= i & -i) sum += need_[at(i)];
  return sum;
}

void Valleys::add_need(int section, Units size) {
  for (int i = section + 1; i < static_cast<int>(need_.size()); i += i & -i) need_[at(i)] += size;
}

}  // namespace tenure::planner::offsets
