#include "tenure/planner/offsets/greedy.h"

#include <algorithm>
#include <numeric>

namespace tenure::planner::packing {
namespace {

/// A placed block, as fit() looks at it.
struct Placed {
  Units offset;
  Units top;
  int begin;
  int end;
};

/// Where `block` goes among the placed ones, which are in order of their offsets.
Units hole_for(const Block& block, const std::vector<Placed>& placed, bool best) {
  Units level = 0;  // nothing is free below, but for the hole that was found
  Units found = kUnreachable;
  Units waste = kUnreachable;
  for (const Placed& other : placed) {
    if (other.end <= block.begin || block.end <= other.begin) continue;
    if (other.offset > level) {
      const Units offset = block.offset_from(level);
      if (offset + block.size <= other.offset && other.offset - level - block.size < waste) {
        found = offset;
        waste = other.offset - level - block.size;
        if (!best) return found;
      }
    }
    level = std::max(level, other.top);
  }
  return found != kUnreachable ? found : block.offset_from(level);
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
  std::stable_partition(result.begin(), result.end(), [&](int i) {
    return blocks[static_cast<std::size_t>(i)].fixed != kAnywhere;
  });
  return result;
}

std::vector<Units> fit(const Instance& instance, const std::vector<int>& order, bool best,
                       const std::function<bool()>& expired) {
  std::vector<Units> offsets(instance.blocks.size());
  std::vector<Placed> placed;
  placed.reserve(order.size());
  for (const int i : order) {
    if (placed.size() % 64 == 63 && expired()) return {};
    const Block& block = instance.blocks[static_cast<std::size_t>(i)];
    const Units offset = block.fixed != kAnywhere ? block.fixed : hole_for(block, placed, best);
    offsets[static_cast<std::size_t>(i)] = offset;
    const Placed entry{offset, offset + block.size, block.begin, block.end};
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), entry,
                         [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
        entry);
  }
  return offsets;
}

}  // namespace tenure::planner::packing
