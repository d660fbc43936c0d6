#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/pool/source.h"

namespace tenure::mem {

class ChunkHeap;

/// There is one CPU, and at most so many devices of each other kind.
inline constexpr std::size_t kDevicesOfAKind = 16;
inline constexpr std::size_t kDevices = 1 + 3 * kDevicesOfAKind;

/// Its place in a table of all devices that there can be; kDevices for one that cannot.
constexpr std::size_t place_of(Device device) noexcept {
  if (device == cpu) return 0;
  if (device.kind == Device::Kind::cpu || device.index >= kDevicesOfAKind) return kDevices;
  return 1 + (static_cast<std::size_t>(device.kind) - 1) * kDevicesOfAKind + device.index;
}
/// The device at a place below kDevices.
constexpr Device device_at(std::size_t place) noexcept {
  if (place == 0) return cpu;
  return {.kind = static_cast<Device::Kind>(1 + (place - 1) / kDevicesOfAKind),
          .index = static_cast<std::uint8_t>((place - 1) % kDevicesOfAKind)};
}

/// Makes a device known that has its memory from `source`, for good: from now on storages can be on
/// it, and memory(device) tells of them. The CPU is known from the beginning. Throws ValueError for
/// one that is known, or that cannot be.
void add_device(Device device, Source& source);
extern constinit std::atomic<bool> other_devices;
/// Whether there is another than the CPU.
inline bool has_other_devices() noexcept { return other_devices.load(std::memory_order_relaxed); }
/// By place, of the devices that are present, but for the CPU's.
extern constinit std::array<std::atomic<ChunkHeap*>, kDevices> other_heaps;
inline bool is_present(Device device) noexcept {
  const std::size_t place = place_of(device);
  return place == 0 ||
         (place < kDevices && other_heaps[place].load(std::memory_order_acquire) != nullptr);
}
[[noreturn]] void throw_absent(Device device, const char* user, Site site);
/// Throws ValueError in the name of `user`, called at `site`, for a device that was not made known.
inline void require_device(Device device, const char* user, Site site) {
  if (!is_present(device)) [[unlikely]]
    throw_absent(device, user, site);
}

/// The CPU's heap.
ChunkHeap& heap();
/// The heap of a device that is present.
inline ChunkHeap& heap(Device device) {
  return device == cpu ? heap() : *other_heaps[place_of(device)].load(std::memory_order_acquire);
}

/// Calls `visit(device)` for every device that is present, the CPU first.
template <class F>
void for_each_device(const F& visit) {
  for (std::size_t place = 0; place < kDevices; ++place) {
    if (is_present(device_at(place))) visit(device_at(place));
  }
}

/// The table's lock and those of all heaps, for a fork.
void lock_devices() noexcept;
void unlock_devices() noexcept;

}  // namespace tenure::mem
