#include "tenure/memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "tenure/base/error.h"
#include "tenure/base/units.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/fork.h"
#include "tenure/memory/threads/thread_context.h"

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
    add(settled_, tally.now());
    tally.set_now({});
    tally.set_highest({});
  }

  /// Settles this thread and looks at the others, which may have risen since they last settled.
  void update(Tally& own) noexcept {
    settle(own);
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      observe(c->tally);
      // What was seen must not be seen again on top of a later level. A thread that raises its own
      // just now may miss it, within what `peak` promises.
      c->tally.set_highest(c->tally.now());
    }
  }

  Levels now() const noexcept {
    Levels levels = settled_;
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) add(levels, c->tally.now());
    return levels;
  }

  static Counts sum_counts() noexcept {
    Counts counts;
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      counts.tensors += live_tensors(*c);
      counts.disposed += c->tally.tensors_ended() - c->tally.bodies_ended();
      const auto allocations = c->tally.allocations(c->serials.given());
      const auto frees = c->tally.frees();
      for (std::size_t i = 0; i < kCategories; ++i) counts.storages += allocations[i] - frees[i];
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
      stats.tensors += live_tensors(*c);
      stats.foreign_bytes += tally.foreign_.load(std::memory_order_relaxed);
      const auto allocations = tally.allocations(c->serials.given());
      const auto frees = tally.frees();
      for (std::size_t i = 0; i < kCategories; ++i) {
        stats.allocations += allocations[i];
        stats.frees += frees[i];
        stats.categories[i].storages += allocations[i] - frees[i];
        stats.storages += allocations[i] - frees[i];
      }
    }
  }

 private:
  static std::int64_t live_tensors(const ThreadContext& context) noexcept {
    return context.ids.given() - context.tally.tensors_ended();
  }

  static void add(Levels& sum, const Levels& levels) noexcept {
    sum.total += levels.total;
    for (std::size_t i = 0; i < kCategories; ++i) sum.category[i] += levels.category[i];
  }

  /// Raises the watched peaks by the tally's highest point above what is live elsewhere.
  void observe(const Tally& tally) noexcept {
    const Levels high = tally.highest();
    const Levels low = tally.now();
    Levels reached = now();
    reached.total += std::max<std::int64_t>(high.total - low.total, 0);
    for (std::size_t i = 0; i < kCategories; ++i) {
      reached.category[i] += std::max<std::int64_t>(high.category[i] - low.category[i], 0);
    }
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

std::int64_t Tally::tensors_ended() const noexcept {
  return tensors_ended_.load(std::memory_order_relaxed) +
         both_ended_.load(std::memory_order_relaxed);
}

std::int64_t Tally::bodies_ended() const noexcept {
  return bodies_ended_.load(std::memory_order_relaxed) +
         both_ended_.load(std::memory_order_relaxed);
}

Tally::PerCategory Tally::frees() const noexcept {
  PerCategory counts{};
  for (std::size_t i = 0; i < kCategories; ++i) {
    counts[i] = frees_[i].load(std::memory_order_relaxed);
  }
  counts[index(kMain)] += both_ended_.load(std::memory_order_relaxed);
  return counts;
}

Tally::PerCategory Tally::allocations(std::int64_t serials) const noexcept {
  PerCategory counts{};
  std::int64_t others = adoptions_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kCategories; ++i) {
    counts[i] = allocations_[i].load(std::memory_order_relaxed);
    others += counts[i];
  }
  counts[index(kMain)] = serials - others;
  return counts;
}

Levels Tally::now() const noexcept {
  Levels levels;
  levels.total = total_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < kCategories; ++i) {
    levels.category[i] = others_[i].load(std::memory_order_relaxed);
  }
  std::int64_t& main = levels.category[index(kMain)];
  main = levels.total - main;
  return levels;
}

Levels Tally::highest() const noexcept {
  const std::int64_t high = high_.load(std::memory_order_relaxed);
  Levels levels;
  levels.total = std::max(high, total_reached_.load(std::memory_order_relaxed));
  for (std::size_t i = 0; i < kCategories; ++i) {
    levels.category[i] = reached_[i].load(std::memory_order_relaxed);
  }
  std::int64_t& main = levels.category[index(kMain)];
  main = std::max(main, high - others_[index(kMain)].load(std::memory_order_relaxed));
  return levels;
}

void Tally::set_now(const Levels& levels) noexcept {
  total_.store(levels.total, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kCategories; ++i) {
    others_[i].store(levels.category[i], std::memory_order_relaxed);
  }
  others_[index(kMain)].store(levels.total - levels.category[index(kMain)],
                              std::memory_order_relaxed);
}

void Tally::set_highest(const Levels& levels) noexcept {
  high_.store(levels.total, std::memory_order_relaxed);
  total_reached_.store(levels.total, std::memory_order_relaxed);
  for (std::size_t i = 0; i < kCategories; ++i) {
    reached_[i].store(levels.category[i], std::memory_order_relaxed);
  }
}

void Tally::end_stretch() noexcept {
  set_highest(highest());
  high_.store(total_.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void Tally::change_level(Category category, std::int64_t bytes) noexcept {
  const std::int64_t level = bump(others_[index(category)], bytes);
  bump(others_[index(kMain)], bytes);
  Counter& reached = reached_[index(category)];
  reached.store(std::max(reached.load(std::memory_order_relaxed), level),
                std::memory_order_relaxed);
}

void Tally::change_other(Category category, std::int64_t bytes) noexcept {
  end_stretch();
  const std::int64_t total = bump(total_, bytes);
  change_level(category, bytes);
  high_.store(total, std::memory_order_relaxed);
  if (total >= kSettleAt || total <= -kSettleAt) settle();
}

void Tally::moved(Category from, Category to, std::int64_t bytes) noexcept {
  end_stretch();
  if (from != kMain) {
    bump(allocations_[index(from)], -1);
    change_level(from, -bytes);
  }
  if (to != kMain) {
    bump(allocations_[index(to)], 1);
    change_level(to, bytes);
  }
}

std::mutex& ledger_mutex() noexcept { return Ledger::instance().mutex; }

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
  Tally& own = this_thread().tally;
  const std::lock_guard lock(ledger.mutex);
  ledger.update(own);
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
  Tally& own = this_thread().tally;
  const std::lock_guard lock(ledger.mutex);
  ledger.update(own);
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
    mem::Tally& own = mem::this_thread().tally;
    const std::lock_guard lock(ledger.mutex);
    ledger.update(own);
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
  mem::Tally& own = mem::this_thread().tally;
  const std::lock_guard lock(ledger.mutex);
  ledger.update(own);
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
