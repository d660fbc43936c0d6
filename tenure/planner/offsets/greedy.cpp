#include "tenure/planner/offsets/greedy.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace tenure::planner::offsets {
namespace {

/// What lies where, in order of offsets and in short rows, so that neither looking at all nor
/// putting something in between takes long.
class Placed {
 public:
  void add(const Solid& solid, Units offset) {
    const Units low = offset + solid.bottom;
    std::size_t r = 0;
    while (r + 1 < rows_.size() && rows_[r + 1].low.front() <= low) ++r;
    if (rows_.empty()) rows_.emplace_back();
    if (rows_[r].low.size() == kLongest) {
      split(r);
      if (rows_[r + 1].low.front() <= low) ++r;
    }
    Row& row = rows_[r];
    const auto place = std::upper_bound(row.low.begin(), row.low.end(), low) - row.low.begin();
    row.low.insert(row.low.begin() + place, low);
    row.top.insert(row.top.begin() + place, offset + solid.top);
    row.begin.insert(row.begin.begin() + place, solid.begin);
    row.end.insert(row.end.begin() + place, solid.end);
    row.first = std::min(row.first, solid.begin);
    row.last = std::max(row.last, solid.end);
  }

  /// Calls visit(low, top) for all that meet [begin, end), by offset, until it returns false.
  template <class Visit>
  void each(int begin, int end, const Visit& visit) const {
    for (const Row& row : rows_) {
      if (row.last <= begin || end <= row.first) continue;
      for (std::size_t i = 0; i < row.low.size(); ++i) {
        if (row.end[i] <= begin || end <= row.begin[i]) continue;
        if (!visit(row.low[i], row.top[i])) return;
      }
    }
  }

 private:
  static constexpr std::size_t kLongest = 512;

  struct Row {
    std::vector<Units> low;
    std::vector<Units> top;
    std::vector<int> begin;
    std::vector<int> end;
    int first = std::numeric_limits<int>::max();
    int last = 0;
  };

  void split(std::size_t r) {
    Row half;
    const auto move_half = [](auto& from, auto& to) {
      to.assign(from.begin() + kLongest / 2, from.end());
      from.resize(kLongest / 2);
    };
    Row& row = rows_[r];
    move_half(row.low, half.low);
    move_half(row.top, half.top);
    move_half(row.begin, half.begin);
    move_half(row.end, half.end);
    for (Row* const part : {&row, &half}) {
      part->first = *std::min_element(part->begin.begin(), part->begin.end());
      part->last = *std::max_element(part->end.begin(), part->end.end());
    }
    rows_.insert(rows_.begin() + static_cast<std::ptrdiff_t>(r) + 1, std::move(half));
  }

  std::vector<Row> rows_;
};

/// Where `block`, which has no gaps, goes: into the tightest hole, or the lowest.
Units hole_for(const Block& block, const Placed& placed, bool best) {
  Units level = 0;  // nothing is free below, but for the hole that was found
  Units found = kUnreachable;
  Units waste = kUnreachable;
  placed.each(block.begin, block.end, [&](Units low, Units top) {
    if (low > level) {
      const Units offset = block.offset_from(level);
      if (offset + block.size <= low && low - level - block.size < waste) {
        found = offset;
        waste = low - level - block.size;
        if (!best) return false;
      }
    }
    level = std::max(level, top);
    return true;
  });
  return found != kUnreachable ? found : block.offset_from(level);
}

/// The lowest offset of a block with gaps: it rises above whatever is in the way.
Units lowest_for(const Block& block, const std::vector<Solid>& shape, const Placed& placed) {
  Units offset = 0;
  for (bool rose = true; rose;) {
    rose = false;
    for (const Solid& solid : shape) {
      placed.each(solid.begin, solid.end, [&](Units low, Units top) {
        if (low >= offset + solid.top) return false;
        if (top > offset + solid.bottom) {
          offset = block.offset_from(top - solid.bottom);
          rose = true;
        }
        return true;
      });
    }
  }
  return offset;
}

}  // namespace

std::vector<int> ordered(const Instance& instance, Order order) {
  const std::vector<Block>& blocks = instance.blocks;
  std::vector<double> keys(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const auto size = static_cast<double>(blocks[i].size);
    const double length = blocks[i].end - blocks[i].begin;
    switch (order) {
      case Order::size:
        keys[i] = size;
        break;
      case Order::area:
        keys[i] = size * length;
        break;
      case Order::length:
        keys[i] = length;
        break;
      case Order::begin:
        keys[i] = -blocks[i].begin;
        break;
    }
  }
  std::vector<int> result(blocks.size());
  std::iota(result.begin(), result.end(), 0);
  std::stable_sort(result.begin(), result.end(), [&](int a, int b) {
    const auto i = static_cast<std::size_t>(a);
    const auto j = static_cast<std::size_t>(b);
    if (keys[i] != keys[j]) return keys[i] > keys[j];
    if (blocks[i].size != blocks[j].size) return blocks[i].size > blocks[j].size;
    return blocks[i].end - blocks[i].begin > blocks[j].end - blocks[j].begin;
  });
  fixed_first(instance, result);
  return result;
}

void fixed_first(const Instance& instance, std::vector<int>& order) {
  std::stable_partition(order.begin(), order.end(), [&](int i) {
    return instance.blocks[static_cast<std::size_t>(i)].fixed != kAnywhere;
  });
}

std::vector<Units> fit(const Instance& instance, const std::vector<int>& order, bool best,
                       const std::function<bool()>& expired) {
  std::vector<Units> offsets(instance.blocks.size());
  Placed placed;
  std::size_t count = 0;
  for (const int id : order) {
    if (++count % 64 == 0 && expired()) return {};
    const auto i = static_cast<std::size_t>(id);
    const Block& block = instance.blocks[i];
    const bool has_shape = !instance.shapes.empty() && instance.shapes[i].size() != 1;
    if (block.fixed != kAnywhere) {
      offsets[i] = block.fixed;
    } else {
      offsets[i] =
          has_shape ? lowest_for(block, instance.shapes[i], placed) : hole_for(block, placed, best);
    }
    if (has_shape) {
      for (const Solid& solid : instance.shapes[i]) placed.add(solid, offsets[i]);
    } else {
      placed.add({block.begin, block.end, 0, block.size}, offsets[i]);
    }
  }
  return offsets;
}

}  // namespace tenure::planner::offsets
