#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "tenure/memory/default_device.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure {

/// Returns free memory of the pools of all devices, or of one, to where it came from. Of the CPU's
/// that is all of the calling thread's and the shared part; what other threads keep in their small
/// caches (at most a few MiB each) stays. Other devices may have only whole segments to give back.
/// Throws ValueError for an absent device.
void trim();
void trim(Device device, Site site = Site::current());

/// How much free memory the pool keeps for reuse; the rest goes back at once. The default of the
/// CPU is the smaller of 2 GiB and an eighth of the machine's memory; other devices keep all they
/// have.
void set_cache_limit(std::size_t bytes, Device device = default_device(),
                     Site site = Site::current());
std::size_t cache_limit(Device device = default_device(), Site site = Site::current());

}  // namespace tenure

namespace tenure::mem {

// Note: the CPU pool
//
//   this thread's bins   one free list per size class; no lock, no atomic read-modify-write
//        |  batches
//   shared bins          one free list and one lock per size class; blocks are cut from slabs
//        |  slabs
//   ChunkHeap            best fit over segments mapped from the system; one lock
//
// Blocks up to 32 KiB come from the bins, larger ones straight from the heap. A block may be freed
// by any thread: it then lies in that thread's bin.
//
// Free blocks of the bins are linked through their first words, which only the CPU's memory has for
// the host. On any other device every block comes from the device's heap (devices.h).

/// The first line of a block stays readable while it is free: it holds the link, and a census reads
/// from it whether a tensor's record is in use.
inline constexpr std::size_t kReadableWhenFree = kAlignment;

/// A block of bin_bytes(index) bytes; nullptr when the system refuses.
void* allocate_small_slow(ThreadContext& context, int index);
void free_small_slow(ThreadContext& context, int index) noexcept;

/// One more bin than size classes: tensors' records keep to slabs of their own, for the census.
inline constexpr int kTenantBin = kSizeClasses;
inline constexpr int kBins = kSizeClasses + 1;
inline constexpr std::size_t kTenantSlot = 320;

constexpr std::size_t bin_bytes(int bin) {
  return bin == kTenantBin ? kTenantSlot : class_bytes(bin);
}

/// How many blocks of a bin a thread keeps before it gives half of them to the shared bin.
inline constexpr std::array<std::uint32_t, kBins> kBinCapacity = [] {
  std::array<std::uint32_t, kBins> capacity{};
  for (int bin = 0; bin < kBins; ++bin) {
    const auto blocks = static_cast<std::uint32_t>(128 * KiB / bin_bytes(bin));
    capacity[static_cast<std::size_t>(bin)] = blocks < 4 ? 4 : blocks > 256 ? 256 : blocks;
  }
  return capacity;
}();
constexpr std::uint32_t bin_capacity(int bin) {
  return kBinCapacity[static_cast<std::size_t>(bin)];
}

/// A block that this thread keeps; nullptr if it has none of that size.
inline void* take_cached(ThreadContext& context, int index) noexcept {
  ThreadContext::Bin& bin = context.bins[index];
  FreeBlock* const block = bin.head;
  if (block == nullptr) [[unlikely]]
    return nullptr;
  bin.head = block->next;
  bin.count.store(bin.count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
  return block;
}

inline void* allocate_small(ThreadContext& context, int index) {
  void* const block = take_cached(context, index);
  return block != nullptr ? block : allocate_small_slow(context, index);
}

inline void free_small(ThreadContext& context, int index, void* p) noexcept {
  ThreadContext::Bin& bin = context.bins[index];
  auto* const block = static_cast<FreeBlock*>(p);
  block->next = bin.head;
  bin.head = block;
  const std::uint32_t count = bin.count.load(std::memory_order_relaxed) + 1;
  bin.count.store(count, std::memory_order_relaxed);
  if (count > bin_capacity(index)) [[unlikely]]
    free_small_slow(context, index);
}

/// Calls `visit` on every block of a bin, used or free, while no slab comes or goes.
void for_each_block(int bin, const std::function<void(void*)>& visit);
/// Bytes of all slabs of a bin.
std::size_t slab_bytes(int bin) noexcept;

/// All its locks and those of the heaps of all devices, for a fork.
void lock_pool() noexcept;
void unlock_pool() noexcept;
void flush_thread_cache(ThreadContext& context) noexcept;

struct PoolStats {
  std::size_t reserved = 0;
  std::size_t cached = 0;
  double fragmentation = 0;
};
/// Of a device that is present.
PoolStats pool_stats(Device device = default_device()) noexcept;

}  // namespace tenure::mem
