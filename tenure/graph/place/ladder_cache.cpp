#include "tenure/graph/place/ladder_cache.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string_view>
#include <utility>

#include "tenure/base/lasting.h"
#include "tenure/base/object_mutex.h"
#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/passes/split.h"

namespace tenure::graph {
namespace {

using Key = std::vector<std::int64_t>;

/// Appends numbers, and how many there are of each sort, so that no two programs have one text.
class KeyWriter {
 public:
  template <class... Numbers>
  void put(Numbers... numbers) {
    (key_.push_back(static_cast<std::int64_t>(numbers)), ...);
  }
  Key take() && { return std::move(key_); }

 private:
  Key key_;
};

/// How a unit may run in parts, and what that takes.
void put_parts(KeyWriter& key, const Unit& unit, const ops::Backend& device) {
  const std::vector<int> counts = part_counts(unit);
  key.put(counts.size());
  if (counts.empty()) return;
  key.put(std::hash<std::string_view>()(unit.nodes == 0 ? "" : unit.node->op->name));
  for (const int parts : counts) {
    const UnitCut cut = *cut_of(unit, parts);
    key.put(parts, workspace_on(first_part(unit, cut, parts), device, 1));
    for (const bool is_cut : cut.in) key.put(is_cut);
    for (const bool is_cut : cut.out) key.put(is_cut);
  }
}

/// All that the arrangements of a program depend on.
Key key_of(const Lowered& lowered) {
  KeyWriter key;
  key.put(lowered.inputs.size(), lowered.sources.size(), lowered.numbers.size(),
          lowered.outputs.size(), lowered.buffers.size(), lowered.units.size());
  for (const Buffer& buffer : lowered.buffers) {
    key.put(buffer.kind, buffer.index, buffer.bytes, buffer.unit, buffer.is_reusable);
  }
  const planner::Dag dag = dag_of(lowered);
  key.put(dag.resident);
  for (std::size_t u = 0; u < lowered.units.size(); ++u) {
    const Unit& unit = lowered.units[u];
    const planner::Node& node = dag.nodes[u];
    key.put(unit.workspace, node.cost, node.pure, unit.may_fail, unit.in.size(), unit.out.size(),
            unit.bounds.size());
    const auto put = [&](const Layout& layout) {
      key.put(layout.buffer, size_of(layout.dtype), layout.offset, layout.shape.size());
      for (const std::int64_t n : layout.shape) key.put(n);
      for (const std::int64_t n : layout.strides) key.put(n);
    };
    for (const Layout& in : unit.in) put(in);
    for (const Layout& out : unit.out) put(out);
    put_parts(key, unit, ops::backend(lowered.request.device));
    for (const std::uint32_t bits : unit.overwrites) key.put(bits);
    for (const ops::IndexBound& bound : unit.bounds) {
      key.put(bound.input, bound.lowest, bound.end, bound.except.has_value(),
              bound.except.value_or(0));
    }
  }
  key.put(lowered.assignments.size());
  for (const Assignment& assignment : lowered.assignments) {
    const auto source = std::find_if(
        lowered.sources.begin(), lowered.sources.end(),
        [&](const Source& candidate) { return candidate.variable == assignment.variable; });
    key.put(assignment.output, source - lowered.sources.begin());
  }
  return std::move(key).take();
}

std::size_t bytes_of(const Ladder& ladder) {
  const auto room = []<class T>(const std::vector<T>& list) { return list.size() * sizeof(T); };
  std::size_t bytes = sizeof(Ladder);
  for (const Rung& rung : ladder.rungs) {
    const Placement& placement = rung.placement;
    bytes += sizeof(Rung) + room(rung.word) + room(rung.groups) + room(placement.order) +
             room(placement.buffers) + room(placement.workspaces) + room(placement.reused) +
             room(placement.live);
  }
  return bytes;
}

std::atomic<std::int64_t> made{0};

/// A child of fork has what its parent had, or nothing if another thread was changing it.
class Cache {
 public:
  std::shared_ptr<const Ladder> find(const Key& key, std::size_t level) {
    if (mutex_.is_abandoned()) return nullptr;
    const std::lock_guard lock(mutex_);
    const auto entry = find_locked(key);
    if (entry == entries_.end() || entry->levels.size() <= level) return nullptr;
    entries_.splice(entries_.begin(), entries_, entry);
    return entry->levels[level];
  }

  void insert(const Key& key, std::size_t level, std::shared_ptr<const Ladder> ladder) {
    if (mutex_.is_abandoned()) return;
    const std::lock_guard lock(mutex_);
    auto entry = find_locked(key);
    if (entry == entries_.end()) {
      entries_.push_front({.key = key});
      entry = entries_.begin();
      bytes_ += key.size() * sizeof(key[0]);
    }
    if (entry->levels.size() != level) return;  // another thread was faster
    bytes_ += bytes_of(*ladder);
    entry->levels.push_back(std::move(ladder));
    while (bytes_ > kLimit && entries_.size() > 1) {
      const Entry& last = entries_.back();
      bytes_ -= last.key.size() * sizeof(key[0]);
      for (const auto& old : last.levels) bytes_ -= bytes_of(*old);
      entries_.pop_back();
    }
  }

 private:
  struct Entry {
    Key key;
    std::vector<std::shared_ptr<const Ladder>> levels{};
  };
  static constexpr std::size_t kLimit = 16 << 20;

  std::list<Entry>::iterator find_locked(const Key& key) {
    return std::find_if(entries_.begin(), entries_.end(),
                        [&](const Entry& entry) { return entry.key == key; });
  }

  ObjectMutex mutex_;         // a child of fork plans too
  std::list<Entry> entries_;  // most recently used first
  std::size_t bytes_ = 0;
};

Cache& cache() {
  static constinit Lasting<Cache> instance;
  return instance.get([] { return new Cache; });
}

}  // namespace

std::shared_ptr<const Ladder> cached_ladder(const Lowered& lowered, int levels,
                                            const MakeLadder& make) {
  const Key key = key_of(lowered);
  std::shared_ptr<const Ladder> ladder;
  for (int level = 0; level < levels; ++level) {
    std::shared_ptr<const Ladder> known = cache().find(key, static_cast<std::size_t>(level));
    if (known == nullptr) {
      known = make(ladder, level);
      made.fetch_add(1, std::memory_order_relaxed);
      cache().insert(key, static_cast<std::size_t>(level), known);
    }
    ladder = std::move(known);
  }
  return ladder;
}

std::int64_t ladders_made() noexcept { return made.load(std::memory_order_relaxed); }

}  // namespace tenure::graph
