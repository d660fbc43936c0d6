#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "tenure/profile/limits.h"

namespace tenure::profile {
namespace {

std::int64_t rounded(std::int64_t bytes, std::int64_t unit) {
  return (std::max<std::int64_t>(bytes, 1) + unit - 1) / unit * unit;
}

/// The free places of a pool's segments.
class Holes {
 public:
  void add_segment(const PoolPartLife& segment) {
    reserved_ += segment.bytes;
    segments_[segment.address] = &segment;
    give(segment.address, segment.bytes, segment.address, segment.address + bytes_of(segment));
  }
  void remove_segment(const PoolPartLife& segment) {
    if (segments_.erase(segment.address) == 0) return;
    reserved_ -= segment.bytes;
    take(segment.address, segment.bytes);
  }
  /// False if it is not free, as where something was allocated that the recording does not know.
  bool take(std::uint64_t address, std::int64_t bytes) {
    auto hole = holes_.upper_bound(address);
    if (hole == holes_.begin()) return false;
    --hole;
    const std::uint64_t begin = hole->first;
    const std::uint64_t end = begin + static_cast<std::uint64_t>(hole->second);
    const std::uint64_t taken_end = address + static_cast<std::uint64_t>(bytes);
    if (taken_end > end) return false;
    remove(hole);
    if (address > begin) insert(begin, static_cast<std::int64_t>(address - begin));
    if (end > taken_end) insert(taken_end, static_cast<std::int64_t>(end - taken_end));
    return true;
  }
  void give(std::uint64_t address, std::int64_t bytes) {
    const PoolPartLife* const segment = segment_of(address);
    if (segment == nullptr) return;
    give(address, bytes, segment->address, segment->address + bytes_of(*segment));
  }
  const PoolPartLife* segment_of(std::uint64_t address) const {
    auto at = segments_.upper_bound(address);
    if (at == segments_.begin()) return nullptr;
    --at;
    return address < at->first + bytes_of(*at->second) ? at->second : nullptr;
  }
  std::int64_t reserved() const { return reserved_; }
  std::int64_t free() const { return free_; }
  double fragmentation() const {
    return free_ == 0 ? 0 : 1 - static_cast<double>(*sizes_.rbegin()) / static_cast<double>(free_);
  }

 private:
  using Map = std::map<std::uint64_t, std::int64_t>;
  static std::uint64_t bytes_of(const PoolPartLife& part) {
    return static_cast<std::uint64_t>(part.bytes);
  }
  void insert(std::uint64_t address, std::int64_t bytes) {
    holes_[address] = bytes;
    sizes_.insert(bytes);
    free_ += bytes;
  }
  void remove(Map::iterator hole) {
    free_ -= hole->second;
    sizes_.erase(sizes_.find(hole->second));
    holes_.erase(hole);
  }
  /// Joins it with its neighbours within [low, high).
  void give(std::uint64_t address, std::int64_t bytes, std::uint64_t low, std::uint64_t high) {
    const auto next = holes_.lower_bound(address);
    if (next != holes_.end() && next->first < high &&
        next->first <= address + static_cast<std::uint64_t>(bytes)) {
      if (next->first < address + static_cast<std::uint64_t>(bytes)) return;  // it was free
      bytes += next->second;
      remove(next);
    }
    auto before = holes_.lower_bound(address);
    if (before != holes_.begin()) {
      --before;
      const std::uint64_t end = before->first + static_cast<std::uint64_t>(before->second);
      if (before->first >= low && end == address) {
        address = before->first;
        bytes += before->second;
        remove(before);
      } else if (before->first >= low && end > address) {
        return;
      }
    }
    insert(address, bytes);
  }

  std::map<std::uint64_t, const PoolPartLife*> segments_;
  Map holes_;
  std::multiset<std::int64_t> sizes_;
  std::int64_t reserved_ = 0;
  std::int64_t free_ = 0;
};

/// What happens to a pool, in the order in which it can happen at one moment.
struct PoolChange {
  enum Kind : std::uint8_t { free, slab_went, segment_went, segment_came, slab_came, allocate };
  std::int64_t time_ns;
  Kind kind;
  const PoolPartLife* part;
  const StorageLife* storage;
};

std::vector<PoolChange> pool_changes(const History& history, Device device) {
  std::vector<PoolChange> changes;
  for (const PoolPartLife& part : history.parts) {
    if (part.device != device) continue;
    changes.push_back({part.birth_ns,
                       part.is_slab ? PoolChange::slab_came : PoolChange::segment_came, &part,
                       nullptr});
    if (part.death_ns == kNever) continue;
    changes.push_back({part.death_ns,
                       part.is_slab ? PoolChange::slab_went : PoolChange::segment_went, &part,
                       nullptr});
  }
  for (const StorageLife& life : history.storages) {
    if (life.device != device || life.address == 0) continue;
    changes.push_back({life.birth_ns, PoolChange::allocate, nullptr, &life});
    if (!life.is_live()) changes.push_back({life.death_ns, PoolChange::free, nullptr, &life});
  }
  std::sort(changes.begin(), changes.end(), [](const PoolChange& a, const PoolChange& b) {
    return a.time_ns != b.time_ns ? a.time_ns < b.time_ns : a.kind < b.kind;
  });
  return changes;
}

}  // namespace

std::vector<PoolSample> pool_levels(const History& history, Device device, int points) {
  std::vector<PoolSample> samples;
  const std::vector<PoolChange> changes = pool_changes(history, device);
  const bool is_known =
      std::any_of(history.parts.begin(), history.parts.end(),
                  [&](const PoolPartLife& part) { return part.device == device; });
  if (!is_known) {
    std::copy_if(history.pool.begin(), history.pool.end(), std::back_inserter(samples),
                 [&](const PoolSample& sample) { return sample.device == device; });
    return samples;
  }
  Holes holes;
  std::map<std::uint64_t, const PoolPartLife*> slabs;
  std::unordered_map<const StorageLife*, std::int64_t> chunks;  // of those that have their own
  const auto is_in_slab = [&](std::uint64_t address) {
    auto at = slabs.upper_bound(address);
    if (at == slabs.begin()) return false;
    --at;
    return address < at->first + static_cast<std::uint64_t>(at->second->bytes);
  };
  const auto apply = [&](const PoolChange& change) {
    switch (change.kind) {
      case PoolChange::segment_came:
        return holes.add_segment(*change.part);
      case PoolChange::segment_went:
        return holes.remove_segment(*change.part);
      case PoolChange::slab_came:
        slabs[change.part->address] = change.part;
        holes.take(change.part->address, change.part->bytes);
        return;
      case PoolChange::slab_went:
        slabs.erase(change.part->address);
        return holes.give(change.part->address, change.part->bytes);
      case PoolChange::allocate: {
        const std::uint64_t address = change.storage->address;
        const PoolPartLife* const segment = holes.segment_of(address);
        if (segment == nullptr || is_in_slab(address)) return;
        const std::int64_t bytes = rounded(change.storage->bytes, segment->unit);
        if (holes.take(address, bytes)) chunks[change.storage] = bytes;
        return;
      }
      case PoolChange::free:
        if (const auto chunk = chunks.find(change.storage); chunk != chunks.end()) {
          holes.give(change.storage->address, chunk->second);
          chunks.erase(chunk);
        }
    }
  };
  const auto state = [&](std::int64_t time) {
    return PoolSample{device, time, holes.reserved(), holes.free(), holes.fragmentation()};
  };
  const std::int64_t width =
      std::max<std::int64_t>((history.end_ns - history.begin_ns) / std::max(points, 1), 1);
  std::int64_t part = 0;
  PoolSample worst{.fragmentation = -1};
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const PoolChange& change = changes[i];
    const std::int64_t now = (change.time_ns - history.begin_ns) / width;
    if (now != part && worst.fragmentation >= 0) {
      samples.push_back(worst);
      worst.fragmentation = -1;
    }
    part = now;
    apply(change);
    // What happens at one moment is seen as a whole.
    if (i + 1 < changes.size() && changes[i + 1].time_ns == change.time_ns) continue;
    const PoolSample seen = state(change.time_ns);
    if (samples.empty() || seen.reserved != samples.back().reserved) {
      if (worst.fragmentation >= 0) samples.push_back(worst);
      worst.fragmentation = -1;
      samples.push_back(seen);
    } else if (seen.fragmentation > worst.fragmentation) {
      worst = seen;
    }
  }
  if (worst.fragmentation >= 0) samples.push_back(worst);
  if (!changes.empty()) samples.push_back(state(history.end_ns));
  return samples;
}

std::vector<SegmentUse> segments_at(const History& history, Device device, std::int64_t time_ns) {
  const auto is_there = [&](const auto& life) {
    return life.device == device && life.birth_ns <= time_ns && life.death_ns > time_ns;
  };
  std::map<std::uint64_t, SegmentUse> segments;
  std::map<std::uint64_t, const PoolPartLife*> slabs;
  for (const PoolPartLife& part : history.parts) {
    if (!is_there(part)) continue;
    if (part.is_slab) {
      slabs[part.address] = &part;
    } else {
      segments[part.address].segment = &part;
    }
  }
  const auto before = [](auto& map, std::uint64_t address) {
    auto at = map.upper_bound(address);
    return at == map.begin() ? map.end() : --at;
  };
  const auto end_of = [](const PoolPartLife& part) {
    return part.address + static_cast<std::uint64_t>(part.bytes);
  };
  std::map<std::uint64_t, std::map<std::uint64_t, std::int64_t>> taken;  // by segment
  for (const auto& [address, slab] : slabs) {
    const auto segment = before(segments, address);
    if (segment == segments.end() || address >= end_of(*segment->second.segment)) continue;
    segment->second.used += slab->bytes;
    segment->second.slabs += slab->bytes;
    taken[segment->first][address] = slab->bytes;
  }
  std::map<std::uint64_t, std::unordered_map<std::uint32_t, std::int64_t>> lines;  // by segment
  for (const StorageLife& life : history.storages) {
    if (!is_there(life) || life.address == 0) continue;
    const auto segment = before(segments, life.address);
    if (segment == segments.end() || life.address >= end_of(*segment->second.segment)) continue;
    lines[segment->first][life.origin] += life.bytes;
    const auto slab = before(slabs, life.address);
    if (slab != slabs.end() && life.address < end_of(*slab->second)) {
      segment->second.small += life.bytes;
      continue;
    }
    const std::int64_t bytes = rounded(life.bytes, segment->second.segment->unit);
    segment->second.used += bytes;
    taken[segment->first][life.address] = bytes;
  }
  std::vector<SegmentUse> result;
  for (auto& [address, use] : segments) {
    std::uint64_t at = address;
    for (const auto& [begin, bytes] : taken[address]) {
      if (begin > at) {
        use.largest_hole = std::max(use.largest_hole, static_cast<std::int64_t>(begin - at));
      }
      at = std::max(at, begin + static_cast<std::uint64_t>(bytes));
    }
    const std::uint64_t end = end_of(*use.segment);
    if (end > at)
      use.largest_hole = std::max(use.largest_hole, static_cast<std::int64_t>(end - at));
    for (const auto& [origin, bytes] : lines[address]) use.by.push_back({origin, bytes});
    std::sort(use.by.begin(), use.by.end(), [](const SegmentUse::By& a, const SegmentUse::By& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.origin < b.origin;
    });
    result.push_back(std::move(use));
  }
  return result;
}

}  // namespace tenure::profile
