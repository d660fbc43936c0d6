#include "tenure/memory/accounts/device_ledger.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include "tenure/memory/pool/chunk_heap.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {
namespace {

std::size_t index_of(Category category) { return static_cast<std::size_t>(category); }

void add(Levels& sum, const Levels& levels) noexcept {
  sum.total += levels.total;
  for (std::size_t i = 0; i < kCategories; ++i) sum.category[i] += levels.category[i];
}

void raise(Levels& peak, const Levels& reached) noexcept {
  peak.total = std::max(peak.total, reached.total);
  for (std::size_t i = 0; i < kCategories; ++i) {
    peak.category[i] = std::max(peak.category[i], reached.category[i]);
  }
}

template <class F>
void for_each_context(const F& visit) {
  for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) visit(*c);
}

}  // namespace

/// What ended on any thread.
struct DeviceLedger::Ends {
  std::int64_t tensors = 0;
  std::int64_t bodies = 0;
  Tally::PerCategory frees{};

  static Ends now() noexcept {
    Ends ends;
    for_each_context([&](const ThreadContext& c) {
      ends.tensors += c.tally.tensors_ended();
      ends.bodies += c.tally.bodies_ended();
      const auto frees = c.tally.frees();
      for (std::size_t i = 0; i < kCategories; ++i) ends.frees[i] += frees[i];
    });
    return ends;
  }
  bool operator==(const Ends&) const = default;
};

/// What began and ended on any thread. Others go on meanwhile, and what began on one of them ends
/// on another: ends are counted first, so that nothing ends that did not begin, and again while
/// there are more of them, a few times.
struct DeviceLedger::Lives {
  Ends ends;
  std::int64_t tensors = 0;
  Tally::PerCategory allocations{};

  static Lives now() noexcept {
    constexpr int kTries = 8;
    Lives lives;
    Ends ends = Ends::now();
    for (int tries = 0; tries < kTries; ++tries) {
      lives = {.ends = ends};
      std::atomic_thread_fence(std::memory_order_acquire);
      for_each_context([&](const ThreadContext& c) {
        lives.tensors += c.ids.given();
        const auto allocations = c.tally.allocations(c.serials.given());
        for (std::size_t i = 0; i < kCategories; ++i) lives.allocations[i] += allocations[i];
      });
      std::atomic_thread_fence(std::memory_order_acquire);
      ends = Ends::now();
      if (ends == lives.ends) break;
    }
    return lives;
  }
};

static_assert(std::is_trivially_destructible_v<DeviceLedger>);
constinit std::array<DeviceLedger, kDevices> DeviceLedger::all_;

std::mutex& DeviceLedger::mutex() const noexcept {
  if (has_tallies()) return mutex_;
  return heap(device_at(static_cast<std::size_t>(this - all_.data()))).mutex();
}

void DeviceLedger::change(Category category, std::int64_t bytes) noexcept {
  const std::size_t at = index_of(category);
  settled_.total += bytes;
  settled_.category[at] += bytes;
  const auto raise_both = [&](Levels& peak) {
    peak.total = std::max(peak.total, settled_.total);
    peak.category[at] = std::max(peak.category[at], settled_.category[at]);
  };
  raise_both(since_reset_);
  for (PeakWatch* w = watches_; w != nullptr; w = w->next_) raise_both(w->levels_);
}

void DeviceLedger::allocated(Category category, std::int64_t bytes) noexcept {
  ++allocations_[index_of(category)];
  change(category, bytes);
}

void DeviceLedger::freed(Category category, std::int64_t bytes) noexcept {
  ++frees_[index_of(category)];
  change(category, -bytes);
}

void DeviceLedger::moved(Category from, Category to, std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex());
  --allocations_[index_of(from)];
  ++allocations_[index_of(to)];
  change(from, -bytes);
  change(to, bytes);
}

void DeviceLedger::settle(Tally& tally) noexcept {
  const std::lock_guard lock(mutex());
  settle_locked(tally);
}

void DeviceLedger::settle_locked(Tally& tally) noexcept {
  observe(tally);
  add(settled_, tally.now());
  tally.set_now({});
  tally.set_highest({});
}

/// Settles this thread and looks at the others, which may have risen since they last settled.
void DeviceLedger::update(ThreadContext& context) noexcept {
  if (!has_tallies()) return;
  settle_locked(context.tally);
  for_each_context([this](ThreadContext& c) {
    observe(c.tally);
    // What was seen must not be seen again on top of a later level. A thread that raises its own
    // just now may miss it, within what `peak` promises.
    c.tally.set_highest(c.tally.now());
  });
}

Levels DeviceLedger::now() const noexcept {
  Levels levels = settled_;
  if (has_tallies()) for_each_context([&](ThreadContext& c) { add(levels, c.tally.now()); });
  return levels;
}

/// Raises the watched peaks by the tally's highest point above what is live elsewhere.
void DeviceLedger::observe(const Tally& tally) noexcept {
  const Levels high = tally.highest();
  const Levels low = tally.now();
  Levels reached = now();
  reached.total += std::max<std::int64_t>(high.total - low.total, 0);
  for (std::size_t i = 0; i < kCategories; ++i) {
    reached.category[i] += std::max<std::int64_t>(high.category[i] - low.category[i], 0);
  }
  raise_peaks(reached);
}

void DeviceLedger::raise_peaks(const Levels& reached) noexcept {
  raise(since_reset_, reached);
  for (PeakWatch* w = watches_; w != nullptr; w = w->next_) raise(w->levels_, reached);
}

void DeviceLedger::evicted(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex());
  ++evictions_;
  evicted_bytes_ += bytes;
}

void DeviceLedger::recomputed(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex());
  ++recomputations_;
  evicted_bytes_ -= bytes;
}

void DeviceLedger::ended_evicted(std::int64_t bytes) noexcept {
  const std::lock_guard lock(mutex());
  evicted_bytes_ -= bytes;
}

MemoryStats DeviceLedger::stats(ThreadContext& context) noexcept {
  const std::lock_guard lock(mutex());
  update(context);
  MemoryStats stats;
  auto allocations = allocations_;
  auto frees = frees_;
  stats.tensors = tensors_.load(std::memory_order_relaxed);
  stats.evictions = evictions_;
  stats.recomputations = recomputations_;
  stats.evicted_bytes = evicted_bytes_;
  if (has_tallies()) {
    const Lives lives = Lives::now();
    stats.tensors += lives.tensors - lives.ends.tensors;
    for (std::size_t i = 0; i < kCategories; ++i) {
      allocations[i] += lives.allocations[i];
      frees[i] += lives.ends.frees[i];
    }
    for_each_context([&](ThreadContext& c) { stats.foreign_bytes += c.tally.foreign(); });
  }
  const Levels levels = now();
  stats.bytes = levels.total;
  stats.peak = since_reset_.total;
  for (std::size_t i = 0; i < kCategories; ++i) {
    CategoryStats& category = stats.categories[i];
    category.bytes = levels.category[i];
    category.peak = since_reset_.category[i];
    category.storages = allocations[i] - frees[i];
    stats.allocations += allocations[i];
    stats.frees += frees[i];
    stats.storages += category.storages;
  }
  return stats;
}

Counts DeviceLedger::counts() const noexcept {
  const std::lock_guard lock(mutex());
  const std::int64_t tensors = tensors_.load(std::memory_order_relaxed);
  Counts counts{.tensors = tensors, .disposed = -tensors, .bytes = now().total};
  for (std::size_t i = 0; i < kCategories; ++i) counts.storages += allocations_[i] - frees_[i];
  if (!has_tallies()) return counts;
  const Lives lives = Lives::now();
  counts.tensors += lives.tensors - lives.ends.tensors;
  counts.disposed += lives.ends.tensors - lives.ends.bodies;
  for (std::size_t i = 0; i < kCategories; ++i) {
    counts.storages += lives.allocations[i] - lives.ends.frees[i];
  }
  return counts;
}

void DeviceLedger::reset_peak(ThreadContext& context) noexcept {
  const std::lock_guard lock(mutex());
  update(context);
  since_reset_ = now();
}

void DeviceLedger::begin(PeakWatch& watch, ThreadContext& context) noexcept {
  const std::lock_guard lock(mutex());
  update(context);
  watch.levels_ = now();
  watch.next_ = watches_;
  watches_ = &watch;
}

void DeviceLedger::end(const PeakWatch& watch) noexcept {
  const std::lock_guard lock(mutex());
  PeakWatch** link = &watches_;
  while (*link != &watch) link = &(*link)->next_;
  *link = watch.next_;
}

std::int64_t DeviceLedger::peak(const PeakWatch& watch, ThreadContext& context) noexcept {
  const std::lock_guard lock(mutex());
  update(context);
  return watch.levels_.total;
}

}  // namespace tenure::mem
