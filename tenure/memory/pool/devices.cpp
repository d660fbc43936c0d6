#include "tenure/memory/pool/devices.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <mutex>

#include "tenure/base/error.h"
#include "tenure/base/lasting.h"
#include "tenure/base/units.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/chunk_heap.h"
#include "tenure/memory/threads/call.h"

namespace tenure::mem {
namespace {

constinit std::mutex table_mutex;  // of whoever writes

std::size_t default_cache_limit() {
  const auto pages = static_cast<std::size_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L));
  const auto page = static_cast<std::size_t>(std::max(sysconf(_SC_PAGESIZE), 0L));
  return std::min(2 * GiB, pages * page / 8);
}

}  // namespace

constinit std::atomic<bool> other_devices = false;
constinit std::array<std::atomic<ChunkHeap*>, kDevices> other_heaps{};

ChunkHeap& heap() {
  static constinit Lasting<ChunkHeap> instance;
  return instance.get([] {
    auto* const made = new ChunkHeap(system_source(), cpu);
    made->set_cache_limit(default_cache_limit());
    return made;
  });
}

void throw_absent(Device device, const char* user, Site site) {
  ValueError error(fmt::format("{}: device {} is not present", user, name_of(device)));
  name_call(error, user, site);
  throw error;
}

void add_device(Device device, Source& source) {
  const std::size_t place = place_of(device);
  if (place >= kDevices) {
    throw ValueError(fmt::format("add_device: there is no device {}; indices end at {}",
                                 name_of(device), kDevicesOfAKind - 1));
  }
  auto made = or_out_of_memory([&] { return std::make_unique<ChunkHeap>(source, device); });
  const std::lock_guard lock(table_mutex);
  if (is_present(device)) {
    throw ValueError(fmt::format("add_device: device {} is known already", name_of(device)));
  }
  other_heaps[place].store(made.release(), std::memory_order_release);
  other_devices.store(true, std::memory_order_relaxed);
}

void lock_devices() noexcept {
  table_mutex.lock();
  for_each_device([](Device device) { heap(device).mutex().lock(); });
}

void unlock_devices() noexcept {
  for_each_device([](Device device) { heap(device).mutex().unlock(); });
  table_mutex.unlock();
}

}  // namespace tenure::mem
