#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

#include "tenure/memory/kinds.h"
#include "tenure/tensor/dtype.h"

namespace tenure::ops {

struct KernelSlot;
class PreparedLoop;

/// What each device has for an op, once somebody has asked: kernel_of and loop_of in backend.h, for
/// which this is. Two devices of one kind have their own each. A copy of a record asks for itself.
class KernelCache {
 public:
  KernelCache() = default;
  KernelCache(const KernelCache& /*other*/) noexcept {}
  KernelCache& operator=(const KernelCache& /*other*/) noexcept {
    forget();
    return *this;
  }
  /// nullptr: nobody has asked yet.
  const KernelSlot* get(Device device) const noexcept {
    const Entry* const entry = find(device);
    return entry == nullptr ? nullptr : entry->slot.load(std::memory_order_acquire);
  }
  void set(Device device, const KernelSlot& slot) {
    entry(device).slot.store(&slot, std::memory_order_release);
  }
  /// Of an elementwise op: the op alone on operands that meet in a type. nullptr: nobody has asked.
  const PreparedLoop* loop(Device device, DType common) const noexcept {
    const Entry* const entry = find(device);
    if (entry == nullptr) return nullptr;
    return entry->loops[static_cast<std::size_t>(common)].load(std::memory_order_acquire);
  }
  /// Gives the one that is there now: of several that ask at once the first one's.
  const PreparedLoop& set_loop(Device device, DType common, const PreparedLoop& loop) {
    auto& place = entry(device).loops[static_cast<std::size_t>(common)];
    const PreparedLoop* now = nullptr;
    return place.compare_exchange_strong(now, &loop, std::memory_order_acq_rel) ? loop : *now;
  }

  /// The kernel of an op that brings one for all devices along, which asks none of them; nullptr:
  /// it brings none.
  const KernelSlot* everywhere() const noexcept {
    return everywhere_.load(std::memory_order_acquire);
  }
  void set_everywhere(const KernelSlot& slot) noexcept {
    everywhere_.store(&slot, std::memory_order_release);
  }

 private:
  struct Entry {
    std::atomic<const KernelSlot*> slot{};
    std::array<std::atomic<const PreparedLoop*>, kDTypes> loops{};
  };
  /// Of all devices but the CPU. Made when the first of them is asked.
  struct Others;

  const Entry* find(Device device) const noexcept {
    return device == cpu ? &cpu_ : find_other(device);
  }
  const Entry* find_other(Device device) const noexcept;
  /// Throws std::bad_alloc.
  Entry& entry(Device device);
  void forget() noexcept;

  Entry cpu_{};
  std::atomic<Others*> others_{};
  std::atomic<const KernelSlot*> everywhere_{};
};

/// Keeps something until the process ends, without a lock that a fork could find held: records are
/// used until then, and have no destructor.
void keep_for_process(std::shared_ptr<const void> kept);

}  // namespace tenure::ops
