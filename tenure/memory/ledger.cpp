#include "tenure/memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/memory/pool.h"
#include "tenure/memory/thread_context.h"

namespace tenure::mem {

/// The shared levels and the watched peaks. All functions expect the lock.
class Ledger {
 public:
  static Ledger& instance() {
    static auto* const ledger = new Ledger;
    return *ledger;
  }

  std::mutex mutex;
  PeakWatch* watches = nullptr;
  Levels since_reset;

  /// Adds a thread's tally to the shared levels and raises the peaks by its highest point.
  void settle(Tally& tally) noexcept {
    observe(tally);
    settled_.total += tally.total_.now.load(std::memory_order_relaxed);
    clear(tally.total_);
    for (std::size_t i = 0; i < kCategories; ++i) {
      settled_.category[i] += tally.levels_[i].now.load(std::memory_order_relaxed);
      clear(tally.levels_[i]);
    }
  }

  /// Settles this thread and looks at the others, which may have risen since they last settled.
  void update() noexcept {
    settle(this_thread().tally);
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      observe(c->tally);
      // What was seen must not be seen again on top of a later level. A thread that raises its own
      // just now may miss it, within what `peak` promises.
      lower(c->tally.total_);
      for (Tally::Level& level : c->tally.levels_) lower(level);
    }
  }

  Levels now() const noexcept {
    Levels levels = settled_;
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      levels.total += c->tally.total_.now.load(std::memory_order_relaxed);
      for (std::size_t i = 0; i < kCategories; ++i) {
        levels.category[i] += c->tally.levels_[i].now.load(std::memory_order_relaxed);
      }
    }
    return levels;
  }

  static Counts sum_counts() noexcept {
    Counts counts;
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      counts.tensors += c->tally.tensors_.load(std::memory_order_relaxed);
      for (const auto& storages : c->tally.storages_) {
        counts.storages += storages.load(std::memory_order_relaxed);
      }
    }
    return counts;
  }

  void fill(MemoryStats& stats) const noexcept {
    const Levels levels = now();
    stats.bytes = levels.total;
    stats.peak = since_reset.total;
    for (std::size_t i = 0; i < kCategories; ++i) {
      stats.categories[i].bytes = levels.category[i];
      stats.categories[i].peak = since_reset.category[i];
    }
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      const Tally& tally = c->tally;
      stats.tensors += tally.tensors_.load(std::memory_order_relaxed);
      stats.allocations += tally.allocations_.load(std::memory_order_relaxed);
      stats.frees += tally.frees_.load(std::memory_order_relaxed);
      stats.foreign_bytes += tally.foreign_.load(std::memory_order_relaxed);
      for (std::size_t i = 0; i < kCategories; ++i) {
        const std::int64_t storages = tally.storages_[i].load(std::memory_order_relaxed);
        stats.categories[i].storages += storages;
        stats.storages += storages;
      }
    }
  }

 private:
  static void clear(Tally::Level& level) noexcept {
    level.now.store(0, std::memory_order_relaxed);
    level.high.store(0, std::memory_order_relaxed);
  }

  static void lower(Tally::Level& level) noexcept {
    level.high.store(level.now.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  /// Raises the watched peaks by the tally's highest point above what is live elsewhere.
  void observe(const Tally& tally) noexcept {
    const auto rise = [](const Tally::Level& level) {
      return std::max<std::int64_t>(
          level.high.load(std::memory_order_relaxed) - level.now.load(std::memory_order_relaxed),
          0);
    };
    Levels reached = now();
    reached.total += rise(tally.total_);
    for (std::size_t i = 0; i < kCategories; ++i) reached.category[i] += rise(tally.levels_[i]);
    raise(since_reset, reached);
    for (PeakWatch* w = watches; w != nullptr; w = w->next_) raise(w->levels_, reached);
  }

  static void raise(Levels& peak, const Levels& reached) noexcept {
    peak.total = std::max(peak.total, reached.total);
    for (std::size_t i = 0; i < kCategories; ++i) {
      peak.category[i] = std::max(peak.category[i], reached.category[i]);
    }
  }

  Levels settled_;
};

void Tally::settle() noexcept {
  Ledger& ledger = Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  ledger.settle(*this);
}

Counts counts() noexcept {
  Ledger& ledger = Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  Counts counts = Ledger::sum_counts();
  counts.bytes = ledger.now().total;
  return counts;
}

PeakWatch::PeakWatch() {
  Ledger& ledger = Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  ledger.update();
  levels_ = ledger.now();
  next_ = ledger.watches;
  ledger.watches = this;
}

PeakWatch::~PeakWatch() {
  Ledger& ledger = Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  PeakWatch** link = &ledger.watches;
  while (*link != this) link = &(*link)->next_;
  *link = next_;
}

std::int64_t PeakWatch::peak() const {
  Ledger& ledger = Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  ledger.update();
  return levels_.total;
}

}  // namespace tenure::mem

namespace tenure {
namespace {

void require_present(Device device, const char* function) {
  if (device != cpu) {
    throw ValueError(fmt::format("{}: device {} is not present", function, name_of(device)));
  }
}

}  // namespace

MemoryStats memory(Device device) {
  require_present(device, "memory");
  MemoryStats stats;
  {
    mem::Ledger& ledger = mem::Ledger::instance();
    const std::lock_guard lock(ledger.mutex);
    ledger.update();
    ledger.fill(stats);
  }
  const mem::PoolStats pool = mem::pool_stats();
  stats.cached_bytes = static_cast<std::int64_t>(pool.cached);
  stats.reserved_bytes = static_cast<std::int64_t>(pool.reserved);
  stats.fragmentation = pool.fragmentation;
  stats.metadata_bytes = static_cast<std::int64_t>(mem::slab_bytes(mem::kTenantBin));
  return stats;
}

void reset_peak(Device device) {
  require_present(device, "reset_peak");
  mem::Ledger& ledger = mem::Ledger::instance();
  const std::lock_guard lock(ledger.mutex);
  ledger.update();
  ledger.since_reset = ledger.now();
}

std::string to_string(const MemoryStats& s) {
  std::string text = fmt::format(
      "{} tensors on {} storages, {} live, peak {}, {} allocations, {} frees\n"
      "pool: {} reserved, {} cached, fragmentation {:.0f} %\n",
      s.tensors, s.storages, format_bytes(s.bytes), format_bytes(s.peak), s.allocations, s.frees,
      format_bytes(s.reserved_bytes), format_bytes(s.cached_bytes), 100 * s.fragmentation);
  for (int i = 0; i < kCategories; ++i) {
    const CategoryStats& c = s.categories[static_cast<std::size_t>(i)];
    if (c.peak == 0 && c.storages == 0) continue;
    text += fmt::format("  {:<10}  {} in {} storages, peak {}\n", name_of(static_cast<Category>(i)),
                        format_bytes(c.bytes), c.storages, format_bytes(c.peak));
  }
  return text;
}

}  // namespace tenure
