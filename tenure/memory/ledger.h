#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "tenure/memory/default_device.h"
#include "tenure/memory/kinds.h"

namespace tenure {

/// What one category of storages holds.
struct CategoryStats {
  std::int64_t storages = 0;
  std::int64_t bytes = 0;
  std::int64_t peak = 0;  ///< highest `bytes` since the last reset_peak()
};

/// The ledger's counters at one moment. Views share a storage, so they add a tensor and no bytes.
struct MemoryStats {
  std::int64_t tensors = 0;   ///< live tensors, disposed ones whose handles remain not counted
  std::int64_t storages = 0;  ///< live buffers
  std::int64_t bytes = 0;     ///< live bytes of data, as asked for
  std::int64_t peak = 0;      ///< highest `bytes` since the last reset_peak()
  std::int64_t allocations = 0;
  std::int64_t frees = 0;
  std::int64_t evictions = 0;       ///< results whose data a Budget gave up, so far
  std::int64_t recomputations = 0;  ///< of those, how often data was computed again
  std::int64_t evicted_bytes = 0;   ///< of live tensors whose data is given up now; not in `bytes`
  std::int64_t foreign_bytes = 0;   ///< memory of the user that tensors refer to; not in `bytes`
  std::int64_t cached_bytes = 0;    ///< free, kept by the pool for reuse; trim() returns them
  std::int64_t reserved_bytes = 0;  ///< address space the pool has taken from the system
  /// Room for the records (shape, sites, ...) of all tensors, on the CPU.
  std::int64_t metadata_bytes = 0;
  /// Share of the pool's free large memory that is not in its largest free piece: 0 is none.
  double fragmentation = 0;
  std::array<CategoryStats, kCategories> categories{};

  const CategoryStats& operator[](Category c) const {
    return categories[static_cast<std::size_t>(c)];
  }
};

/// The counters of a device. Exact whenever no other thread is allocating meanwhile; but where
/// several threads allocate on the CPU, `peak` is exact to 64 KiB per thread. Throws ValueError for
/// an absent device.
MemoryStats memory(Device device = default_device(), Site site = Site::current());
/// Of a device's memory what is not in Tenure's books.
struct OutsideMemory {
  std::int64_t bytes = 0;  ///< what others have taken: libraries, drivers, other programs
  std::int64_t total = 0;  ///< all the memory that the device has; 0: it does not say, as the CPU
};
/// With memory(device).reserved_bytes it is all that is taken of the device. Asks the device, which
/// takes longer than memory() does. Throws ValueError for an absent device.
OutsideMemory memory_outside(Device device = default_device(), Site site = Site::current());
/// Starts the peaks anew from what is live now.
void reset_peak(Device device = default_device(), Site site = Site::current());
/// Several lines for a person to read.
std::string to_string(const MemoryStats& stats);

}  // namespace tenure

namespace tenure::mem {

struct ThreadContext;

/// Highest levels seen while it was watched.
struct Levels {
  std::int64_t total = 0;
  std::array<std::int64_t, kCategories> category{};
};

// Note: how the counters stay cheap
//
// Each thread counts in its own Tally with plain loads and stores. A tally remembers its level
// since it was last settled and the highest point of that; settling (every 64 KiB of change, and
// whenever somebody reads) adds it to the shared levels under a lock and raises the peaks that are
// watched.
//
// Nearly all that small ops allocate are activations. They are counted in the total alone: as long
// as no other category changes, theirs changes as the total does. When one does, a stretch ends,
// and what the total reached in it is noted for the activations too. Births of tensors and storages
// are counted by the numbers they get (accounts/numbers.h). What lies on other devices is counted
// by accounts/device_ledger.h.

/// One thread's unsettled counts of what lies on the CPU. Written by that thread alone, read by
/// any; but for the highest points, which whoever reads lowers to where they are now.
class Tally {
 public:
  void allocated(Category category, std::int64_t bytes) noexcept {
    if (category != kMain) [[unlikely]] {
      bump(allocations_[index(category)], 1);
      return change_other(category, bytes);
    }
    const std::int64_t now = bump(total_, bytes);
    if (now > high_.load(std::memory_order_relaxed)) high_.store(now, std::memory_order_relaxed);
    if (now >= kSettleAt) [[unlikely]]
      settle();
  }
  void freed(Category category, std::int64_t bytes) noexcept {
    bump(frees_[index(category)], 1);
    if (category != kMain) [[unlikely]]
      return change_other(category, -bytes);
    if (bump(total_, -bytes) <= -kSettleAt) [[unlikely]]
      settle();
  }
  /// Adds the levels to the shared ones.
  void settle() noexcept;
  /// A storage of `from` is one of `to` from now on.
  void moved(Category from, Category to, std::int64_t bytes) noexcept;
  void tensor_ended() noexcept { bump(tensors_ended_, 1); }
  /// A tensor's last handle went, which both_ended() counts by itself.
  void body_ended() noexcept { bump(bodies_ended_, 1); }
  /// A tensor ended, and its storage and last handle with it.
  void both_ended(Category category, std::int64_t bytes) noexcept {
    if (category != kMain) [[unlikely]] {
      tensor_ended();
      body_ended();
      return freed(category, bytes);
    }
    bump(both_ended_, 1);
    if (bump(total_, -bytes) <= -kSettleAt) [[unlikely]]
      settle();
  }
  void adopted(std::int64_t bytes) noexcept {
    is_elsewhere();
    bump(foreign_, bytes);
  }
  /// A storage got its number that does not count here.
  void is_elsewhere() noexcept { bump(elsewhere_, 1); }
  void returned(std::int64_t bytes) noexcept { bump(foreign_, -bytes); }

  // What any thread may ask.
  std::int64_t tensors_ended() const noexcept;
  std::int64_t bodies_ended() const noexcept;
  std::int64_t foreign() const noexcept { return foreign_.load(std::memory_order_relaxed); }

 private:
  friend class DeviceLedger;
  static constexpr std::int64_t kSettleAt = 64 * 1024;
  static constexpr Category kMain = Category::activation;
  using Counter = std::atomic<std::int64_t>;

  static std::size_t index(Category c) { return static_cast<std::size_t>(c); }
  static std::int64_t bump(Counter& counter, std::int64_t change) noexcept {
    const std::int64_t value = counter.load(std::memory_order_relaxed) + change;
    counter.store(value, std::memory_order_relaxed);
    return value;
  }
  void change_other(Category category, std::int64_t bytes) noexcept;
  void end_stretch() noexcept;
  void change_level(Category category, std::int64_t bytes) noexcept;

  using PerCategory = std::array<std::int64_t, kCategories>;
  /// How many storages were allocated, of all `serials` that the thread gave.
  PerCategory allocations(std::int64_t serials) const noexcept;
  PerCategory frees() const noexcept;
  Levels now() const noexcept;
  /// The highest points since it was settled.
  Levels highest() const noexcept;
  void set_now(const Levels& levels) noexcept;
  void set_highest(const Levels& levels) noexcept;

  Counter total_{0};
  Counter high_{0};  // of the total in this stretch
  // Of the stretches before this one.
  Counter total_reached_{0};
  std::array<Counter, kCategories> reached_{};
  std::array<Counter, kCategories> others_{};  // now; the main category's place is their sum
  // Without what both_ended_ counts, and without the main category's allocations, which are the
  // serial numbers that nobody else got.
  std::array<Counter, kCategories> allocations_{};
  std::array<Counter, kCategories> frees_{};
  Counter tensors_ended_{0};
  Counter both_ended_{0};
  Counter elsewhere_{0};  // storages of foreign memory and of other devices
  Counter foreign_{0};
  Counter bodies_ended_{0};  // without what both_ended_ counts
};

/// Counters of one moment, over all devices, without the pools' part: cheap enough for every
/// iteration of a loop.
struct Counts {
  std::int64_t tensors = 0;
  std::int64_t disposed = 0;  ///< tensors without data whose handles remain
  std::int64_t storages = 0;
  std::int64_t bytes = 0;
};
Counts counts() noexcept;
/// Of a device that is present.
std::int64_t live_bytes(Device device) noexcept;

/// Keeps a peak of a device of its own from construction on, beside the one that reset_peak()
/// resets. Throws ValueError for an absent device.
class PeakWatch {
 public:
  explicit PeakWatch(Device device = default_device());
  ~PeakWatch();
  PeakWatch(const PeakWatch&) = delete;
  PeakWatch& operator=(const PeakWatch&) = delete;
  std::int64_t peak() const;

 private:
  friend class DeviceLedger;
  const Device device_;
  Levels levels_;
  PeakWatch* next_ = nullptr;
};

}  // namespace tenure::mem
