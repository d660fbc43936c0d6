#include "tenure/ops/core/kernel_cache.h"

#include <utility>

#include "tenure/base/error.h"
#include "tenure/memory/pool/devices.h"

namespace tenure::ops {
namespace {

struct Kept {
  std::shared_ptr<const void> what;
  Kept* next = nullptr;
};
constinit std::atomic<Kept*> all_kept = nullptr;

}  // namespace

struct KernelCache::Others {
  std::array<Entry, mem::kDevices> entries{};  // by place_of(); the CPU's is not used
};

const KernelCache::Entry* KernelCache::find_other(Device device) const noexcept {
  const std::size_t place = mem::place_of(device);
  const Others* const others = others_.load(std::memory_order_acquire);
  return others == nullptr || place == mem::kDevices ? nullptr : &others->entries[place];
}

KernelCache::Entry& KernelCache::entry(Device device) {
  if (device == cpu) return cpu_;
  const std::size_t place = mem::place_of(device);
  internal_check(place < mem::kDevices, "a kernel is kept for a device that can be");
  Others* now = others_.load(std::memory_order_acquire);
  if (now == nullptr) {
    const auto made = std::make_shared<Others>();
    keep_for_process(made);
    if (others_.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
      now = made.get();
    }
  }
  return now->entries[place];
}

void KernelCache::forget() noexcept {
  const auto clear = [](Entry& entry) {
    entry.slot.store(nullptr, std::memory_order_relaxed);
    for (auto& loop : entry.loops) loop.store(nullptr, std::memory_order_relaxed);
  };
  clear(cpu_);
  if (Others* const others = others_.load(std::memory_order_relaxed)) {
    for (Entry& entry : others->entries) clear(entry);
  }
  everywhere_.store(nullptr, std::memory_order_relaxed);
}

void keep_for_process(std::shared_ptr<const void> kept) {
  auto* const made = new Kept{.what = std::move(kept)};
  made->next = all_kept.load(std::memory_order_relaxed);
  while (!all_kept.compare_exchange_weak(made->next, made, std::memory_order_release)) {
  }
}

}  // namespace tenure::ops
