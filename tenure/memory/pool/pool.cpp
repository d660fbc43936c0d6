#include "tenure/memory/pool/pool.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <vector>

#include "tenure/base/lasting.h"
#include "tenure/memory/pool/asan.h"
#include "tenure/memory/pool/chunk_heap.h"

namespace tenure::mem {
namespace {

/// A run of equal blocks cut from one chunk.
struct Slab {
  std::byte* begin;
  std::byte* end;
  Chunk* chunk;
  std::size_t free;  // blocks found free, while trimming
};

struct SharedBin {
  std::mutex mutex;
  FreeBlock* head = nullptr;
  std::atomic<std::size_t> count{0};
  std::atomic<std::size_t> stuck{0};  // free blocks that the last look for empty slabs left
  std::vector<Slab> slabs;            // by address

  bool grow(int index);
  void push(FreeBlock* block) noexcept {
    block->next = head;
    head = block;
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  FreeBlock* pop() noexcept {
    FreeBlock* const block = head;
    head = block->next;
    count.store(count.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    return block;
  }
  void release_empty_slabs(int index) noexcept;
};

SharedBin* shared_bins() {
  static constinit Lasting<std::array<SharedBin, kBins>> bins;
  return bins.get([] { return new std::array<SharedBin, kBins>; }).data();
}

PoolPart part_of(const Slab& slab, std::size_t block) noexcept {
  return {.begin = slab.begin, .bytes = ChunkHeap::bytes(slab.chunk), .block = block};
}

bool SharedBin::grow(int index) try {
  const std::size_t size = bin_bytes(index);
  slabs.reserve(slabs.size() + 1);
  Chunk* const chunk = heap().allocate(std::max<std::size_t>(64 * KiB, 8 * size));
  if (chunk == nullptr) return false;
  auto* const begin = static_cast<std::byte*>(ChunkHeap::address(chunk));
  const std::size_t blocks = ChunkHeap::bytes(chunk) / size;
  const Slab slab{.begin = begin, .end = begin + blocks * size, .chunk = chunk, .free = 0};
  slabs.insert(std::upper_bound(slabs.begin(), slabs.end(), slab,
                                [](const Slab& a, const Slab& b) { return a.begin < b.begin; }),
               slab);
  if (SegmentWatch* const watch = segment_watch.load(std::memory_order_acquire)) {
    watch->part_came(part_of(slab, size));
  }
  for (std::size_t i = blocks; i > 0; --i) {
    std::byte* const block = begin + (i - 1) * size;
    std::memset(block, 0, kReadableWhenFree);
    push(reinterpret_cast<FreeBlock*>(block));
    poison(block + kReadableWhenFree, size - kReadableWhenFree);
  }
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void SharedBin::release_empty_slabs(int index) noexcept {
  const std::size_t size = bin_bytes(index);
  const auto slab_of = [this](const void* block) -> Slab& {
    const auto after =
        std::upper_bound(slabs.begin(), slabs.end(), block,
                         [](const void* p, const Slab& slab) { return p < slab.begin; });
    return *std::prev(after);
  };
  const auto is_empty = [size](const Slab& slab) {
    return slab.free * size == static_cast<std::size_t>(slab.end - slab.begin);
  };
  for (Slab& slab : slabs) slab.free = 0;
  for (FreeBlock* block = head; block != nullptr; block = block->next) ++slab_of(block).free;
  FreeBlock* block = head;
  head = nullptr;
  count.store(0, std::memory_order_relaxed);
  while (block != nullptr) {
    FreeBlock* const next = block->next;
    if (!is_empty(slab_of(block))) push(block);
    block = next;
  }
  std::erase_if(slabs, [&](const Slab& slab) {
    if (!is_empty(slab)) return false;
    if (SegmentWatch* const watch = segment_watch.load(std::memory_order_acquire)) {
      watch->part_went(part_of(slab, size));
    }
    heap().free(slab.chunk);
    return true;
  });
  stuck.store(count.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

std::size_t small_bytes_cached() noexcept {
  std::size_t bytes = 0;
  for (int i = 0; i < kBins; ++i) {
    std::size_t blocks = shared_bins()[i].count.load(std::memory_order_relaxed);
    for (ThreadContext* c = all_contexts(); c != nullptr; c = c->next) {
      blocks += c->bins[i].count.load(std::memory_order_relaxed);
    }
    bytes += blocks * bin_bytes(i);
  }
  return bytes;
}

/// Moves blocks from the thread's bin to the shared one until `keep` are left.
void give_back(ThreadContext& context, int index, std::uint32_t keep) noexcept {
  ThreadContext::Bin& bin = context.bins[index];
  SharedBin& shared = shared_bins()[index];
  const std::lock_guard lock(shared.mutex);
  std::uint32_t count = bin.count.load(std::memory_order_relaxed);
  for (; count > keep; --count) {
    FreeBlock* const block = bin.head;
    bin.head = block->next;
    shared.push(block);
  }
  bin.count.store(count, std::memory_order_relaxed);
}

}  // namespace

void* allocate_small_slow(ThreadContext& context, int index) {
  ThreadContext::Bin& bin = context.bins[index];
  SharedBin& shared = shared_bins()[index];
  const std::lock_guard lock(shared.mutex);
  if (shared.head == nullptr && !shared.grow(index)) return nullptr;
  const std::uint32_t wanted = bin_capacity(index) / 2;
  std::uint32_t count = 0;
  for (; count < wanted && shared.head != nullptr; ++count) {
    FreeBlock* const block = shared.pop();
    block->next = bin.head;
    bin.head = block;
  }
  FreeBlock* const block = bin.head;
  bin.head = block->next;
  bin.count.store(count - 1, std::memory_order_relaxed);
  return block;
}

void free_small_slow(ThreadContext& context, int index) noexcept {
  give_back(context, index, bin_capacity(index) / 2);
  SharedBin& shared = shared_bins()[index];
  // Small blocks rarely pile up here; when they do, whole slabs go back to the heap, whose own
  // limit then decides whether the system gets them. Twice as many as before must have come since
  // the last look, or looking would take quadratic time.
  const std::size_t count = shared.count.load(std::memory_order_relaxed);
  if (count > 2 * shared.stuck.load(std::memory_order_relaxed) &&
      count * bin_bytes(index) > std::max<std::size_t>(heap().cache_limit() / 4, 1 * MiB)) {
    const std::lock_guard lock(shared.mutex);
    shared.release_empty_slabs(index);
  }
}

void flush_thread_cache(ThreadContext& context) noexcept {
  for (int i = 0; i < kBins; ++i) {
    if (context.bins[i].head != nullptr) give_back(context, i, 0);
  }
}

void lock_pool() noexcept {
  for (int i = 0; i < kBins; ++i) shared_bins()[i].mutex.lock();
  lock_devices();
}

void unlock_pool() noexcept {
  unlock_devices();
  for (int i = kBins; i > 0; --i) shared_bins()[i - 1].mutex.unlock();
}

void for_each_block(int bin, const std::function<void(void*)>& visit) {
  SharedBin& shared = shared_bins()[bin];
  const std::lock_guard lock(shared.mutex);
  for (const Slab& slab : shared.slabs) {
    for (std::byte* block = slab.begin; block < slab.end; block += bin_bytes(bin)) visit(block);
  }
}

std::size_t slab_bytes(int bin) noexcept {
  SharedBin& shared = shared_bins()[bin];
  const std::lock_guard lock(shared.mutex);
  std::size_t bytes = 0;
  for (const Slab& slab : shared.slabs) bytes += static_cast<std::size_t>(slab.end - slab.begin);
  return bytes;
}

void tell_parts(SegmentWatch& watch) {
  for_each_device([&](Device device) { heap(device).tell_segments(watch); });
  for (int i = 0; i < kBins; ++i) {
    SharedBin& shared = shared_bins()[i];
    const std::lock_guard lock(shared.mutex);
    for (const Slab& slab : shared.slabs) watch.part_came(part_of(slab, bin_bytes(i)));
  }
}

PoolStats pool_stats(Device device) noexcept {
  const ChunkHeap::Stats stats = heap(device).stats();
  return {.reserved = stats.mapped,
          .cached = stats.cached + (device == cpu ? small_bytes_cached() : 0),
          .fragmentation = stats.free == 0 ? 0.0
                                           : 1.0 - static_cast<double>(stats.largest_free) /
                                                       static_cast<double>(stats.free)};
}

}  // namespace tenure::mem

namespace tenure {

void trim() {
  mem::for_each_device([](Device device) { trim(device); });
}

void trim(Device device, Site site) {
  mem::require_device(device, "trim", site);
  if (device == cpu) {
    mem::flush_thread_cache(mem::this_thread());
    for (int i = 0; i < mem::kBins; ++i) {
      mem::SharedBin& shared = mem::shared_bins()[i];
      const std::lock_guard lock(shared.mutex);
      shared.release_empty_slabs(i);
    }
  }
  mem::heap(device).trim(0);
}

void set_cache_limit(std::size_t bytes, Device device, Site site) {
  mem::require_device(device, "set_cache_limit", site);
  mem::heap(device).set_cache_limit(bytes);
}

std::size_t cache_limit(Device device, Site site) {
  mem::require_device(device, "cache_limit", site);
  return mem::heap(device).cache_limit();
}

}  // namespace tenure
