#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>

#include "tenure/memory/kinds.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/devices.h"

namespace tenure::mem {

// Note: the ledger of a device
//
// What lies on the CPU is counted by each thread in its Tally (ledger.h): a small op allocates
// there in a few nanoseconds. On another device every block comes from a heap that has a lock, so
// its ledger counts at once, under the same lock; its peaks are exact on any number of threads.
//
// Numbers of storages and tensors are one row for all devices, and the CPU's are counted by them.
// So each that lies elsewhere is taken out of its thread's tally at birth: a storage by
// Tally::is_elsewhere(), a tensor as one that has ended, like a symbol.

/// The levels of one device and the peaks that are watched.
class DeviceLedger {
 public:
  /// Of a device that is present.
  static DeviceLedger& of(Device device) noexcept { return all_[place_of(device)]; }
  DeviceLedger() = default;
  DeviceLedger(const DeviceLedger&) = delete;
  DeviceLedger& operator=(const DeviceLedger&) = delete;

  // For any device but the CPU; these for whoever has the lock of its heap.
  void allocated(Category category, std::int64_t bytes) noexcept;
  void freed(Category category, std::int64_t bytes) noexcept;

  void moved(Category from, Category to, std::int64_t bytes) noexcept;
  void tensor_began() noexcept { tensors_.fetch_add(1, std::memory_order_relaxed); }
  void tensor_ended() noexcept { tensors_.fetch_sub(1, std::memory_order_relaxed); }

  /// A result's data was given up; was computed again; and ended without being so.
  void evicted(std::int64_t bytes) noexcept;
  void recomputed(std::int64_t bytes) noexcept;
  void ended_evicted(std::int64_t bytes) noexcept;

  /// Adds a thread's tally to the CPU's levels and raises the peaks by its highest point.
  void settle(Tally& tally) noexcept;

  /// Without the pool's part.
  MemoryStats stats(ThreadContext& context) noexcept;
  /// `disposed` is less by the tensors of other devices than the CPU; the sum over all devices is
  /// right.
  Counts counts() const noexcept;
  void reset_peak(ThreadContext& context) noexcept;

  void begin(PeakWatch& watch, ThreadContext& context) noexcept;
  void end(const PeakWatch& watch) noexcept;
  std::int64_t peak(const PeakWatch& watch, ThreadContext& context) noexcept;

  /// The CPU's lock, for a fork, which has those of the heaps.
  static void lock_for_fork() noexcept { of(cpu).mutex_.lock(); }
  static void unlock_for_fork() noexcept { of(cpu).mutex_.unlock(); }

 private:
  struct Ends;
  struct Lives;

  /// The CPU's own, else that of the device's heap.
  std::mutex& mutex() const noexcept;
  bool has_tallies() const noexcept { return this == all_.data(); }

  // All below expect the lock.
  /// What rises is seen by the peaks.
  void change(Category category, std::int64_t bytes) noexcept;
  void settle_locked(Tally& tally) noexcept;
  void update(ThreadContext& context) noexcept;
  Levels now() const noexcept;
  void observe(const Tally& tally) noexcept;
  void raise_peaks(const Levels& reached) noexcept;

  // Neither made nor destroyed: storages may outlive all that is static.
  static constinit std::array<DeviceLedger, kDevices> all_;

  mutable std::mutex mutex_;
  PeakWatch* watches_ = nullptr;
  Levels since_reset_;
  Levels settled_;
  // Of the CPU the tallies have these.
  std::atomic<std::int64_t> tensors_{0};
  std::array<std::int64_t, kCategories> allocations_{};
  std::array<std::int64_t, kCategories> frees_{};
  std::int64_t evictions_ = 0;
  std::int64_t recomputations_ = 0;
  std::int64_t evicted_bytes_ = 0;
};

}  // namespace tenure::mem
