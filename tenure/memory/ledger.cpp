#include "tenure/memory/ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/units.h"
#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/pool/chunk_heap.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

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
  std::int64_t others = elsewhere_.load(std::memory_order_relaxed);
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

void Tally::settle() noexcept { DeviceLedger::of(cpu).settle(*this); }

Counts counts() noexcept {
  Counts sum;
  for_each_device([&](Device device) {
    const Counts counts = DeviceLedger::of(device).counts();
    sum.tensors += counts.tensors;
    sum.disposed += counts.disposed;
    sum.storages += counts.storages;
    sum.bytes += counts.bytes;
  });
  return sum;
}

std::int64_t live_bytes(Device device) noexcept { return DeviceLedger::of(device).counts().bytes; }

PeakWatch::PeakWatch(Device device) : device_(device) {
  require_device(device, "PeakWatch", Site());
  DeviceLedger::of(device).begin(*this, this_thread());
}

PeakWatch::~PeakWatch() { DeviceLedger::of(device_).end(*this); }

std::int64_t PeakWatch::peak() const {
  return DeviceLedger::of(device_).peak(*this, this_thread());
}

}  // namespace tenure::mem

namespace tenure {

MemoryStats memory(Device device, Site site) {
  mem::require_device(device, "memory", site);
  MemoryStats stats = mem::DeviceLedger::of(device).stats(mem::this_thread());
  const mem::PoolStats pool = mem::pool_stats(device);
  stats.cached_bytes = static_cast<std::int64_t>(pool.cached);
  stats.reserved_bytes = static_cast<std::int64_t>(pool.reserved);
  stats.fragmentation = pool.fragmentation;
  if (device == cpu) {
    stats.metadata_bytes = static_cast<std::int64_t>(mem::slab_bytes(mem::kTenantBin));
  }
  return stats;
}

OutsideMemory memory_outside(Device device, Site site) {
  mem::require_device(device, "memory_outside", site);
  const mem::ChunkHeap::Outside outside = mem::heap(device).outside();
  return {.bytes = static_cast<std::int64_t>(outside.taken),
          .total = static_cast<std::int64_t>(outside.total)};
}

void reset_peak(Device device, Site site) {
  mem::require_device(device, "reset_peak", site);
  mem::DeviceLedger::of(device).reset_peak(mem::this_thread());
}

std::string to_string(const MemoryStats& s) {
  std::string text = fmt::format(
      "{} tensors on {} storages, {} live, peak {}, {} allocations, {} frees\n"
      "pool: {} reserved, {} cached, fragmentation {:.0f} %\n",
      s.tensors, s.storages, format_bytes(s.bytes), format_bytes(s.peak), s.allocations, s.frees,
      format_bytes(s.reserved_bytes), format_bytes(s.cached_bytes), 100 * s.fragmentation);
  if (s.evictions != 0) {
    text += fmt::format("evicted: {} given up, {} evictions, {} recomputations\n",
                        format_bytes(s.evicted_bytes), s.evictions, s.recomputations);
  }
  for (int i = 0; i < kCategories; ++i) {
    const CategoryStats& c = s.categories[static_cast<std::size_t>(i)];
    if (c.peak == 0 && c.storages == 0) continue;
    text += fmt::format("  {:<10}  {} in {} storages, peak {}\n", name_of(static_cast<Category>(i)),
                        format_bytes(c.bytes), c.storages, format_bytes(c.peak));
  }
  return text;
}

}  // namespace tenure
