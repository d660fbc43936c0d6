#include "tenure/memory/pool/chunk_heap.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>
#include <utility>

#include "tenure/base/units.h"
#include "tenure/memory/pool/asan.h"

namespace tenure::mem {

std::atomic<SegmentWatch*> segment_watch{nullptr};

namespace {

// A segment is a whole number of huge pages.
constexpr std::size_t kSegmentStep = 2 * MiB;
constexpr std::size_t kSmallestSegment = 8 * MiB;

}  // namespace

/// A range of a segment, linked to its neighbours in address order. While it is in use it keeps
/// the tree node that it will need to become free again.
struct Chunk {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  // How far from its beginning it may be backed by memory; counts while it is free. Chunks are cut
  // from the front, so that memory in use stays memory in use.
  std::size_t resident = 0;
  bool is_free = false;
  Chunk* previous = nullptr;
  Chunk* next = nullptr;
  Chunk* next_listed = nullptr;
  ChunkHeap::FreeSet::node_type node;
};

bool ChunkHeap::BySize::operator()(const Chunk* a, const Chunk* b) const noexcept {
  return a->bytes != b->bytes ? a->bytes < b->bytes : a->begin < b->begin;
}
bool ChunkHeap::BySize::operator()(const Chunk* a, std::size_t bytes) const noexcept {
  return a->bytes < bytes;
}

std::unique_ptr<Chunk> ChunkHeap::make_chunk() {
  auto chunk = std::make_unique<Chunk>();
  FreeSet one;
  chunk->node = one.extract(one.insert(chunk.get()).first);
  return chunk;
}

ChunkHeap::ChunkHeap(Source& source, std::optional<Device> device) noexcept
    : source_(source),
      device_(device),
      granularity_(source.granularity()),
      granularity_bits_(std::countr_zero(granularity_)),
      most_listed_(std::min(kMostListed, kLists << granularity_bits_)),
      is_host_(source.is_host()) {}

ChunkHeap::~ChunkHeap() {
  // Chunks still in use belong to storages that outlive the heap: leave those segments mapped.
  trim(0);
}

void* ChunkHeap::address(const Chunk* chunk) noexcept { return chunk->begin; }
std::size_t ChunkHeap::bytes(const Chunk* chunk) noexcept { return chunk->bytes; }

Chunk* ChunkHeap::allocate_locked(std::size_t bytes) try {
  if (bytes > static_cast<std::size_t>(-1) / 2) return nullptr;
  bytes = round_up(std::max<std::size_t>(bytes, 1), granularity_);
  Chunk** const list = list_of(bytes);
  if (list != nullptr && *list != nullptr) {
    Chunk* const chunk = std::exchange(*list, (*list)->next_listed);
    listed_ -= bytes;
    free_bytes_ -= bytes;
    cached_ -= bytes;
    if (is_host_) unpoison(chunk->begin, bytes);
    return chunk;
  }
  auto found = free_.lower_bound(bytes);
  if (found == free_.end() && listed_ > 0) {
    merge_listed();
    found = free_.lower_bound(bytes);
  }
  // The remainder's bookkeeping comes first: nothing has changed if it cannot be had.
  std::unique_ptr<Chunk> remainder;
  if (found == free_.end() || (*found)->bytes > bytes) remainder = make_chunk();

  Chunk* chunk = nullptr;
  if (found != free_.end()) {
    chunk = *found;
    remove_free(chunk);
  } else {
    chunk = map_segment(bytes);
    if (chunk == nullptr) return nullptr;
  }
  if (chunk->bytes > bytes) {
    Chunk* const rest = remainder.release();
    rest->begin = chunk->begin + bytes;
    rest->bytes = chunk->bytes - bytes;
    rest->resident = chunk->resident > bytes ? chunk->resident - bytes : 0;
    rest->previous = chunk;
    rest->next = chunk->next;
    if (rest->next != nullptr) rest->next->previous = rest;
    chunk->next = rest;
    chunk->bytes = bytes;
    insert_free(rest);
  }
  if (is_host_) unpoison(chunk->begin, chunk->bytes);
  return chunk;
} catch (const std::bad_alloc&) {
  return nullptr;
}

Chunk* ChunkHeap::map_segment(std::size_t bytes) {
  const std::size_t size = round_up(std::max(bytes, kSmallestSegment), kSegmentStep);
  std::unique_ptr<Chunk> chunk = make_chunk();
  std::map<const void*, std::size_t> entry{{nullptr, size}};  // what can fail comes first
  chunk->begin = static_cast<std::byte*>(source_.map(size));
  if (chunk->begin == nullptr) return nullptr;
  chunk->bytes = size;
  mapped_ += size;
  auto node = entry.extract(entry.begin());
  node.key() = chunk->begin;
  segments_.insert(std::move(node));
  if (SegmentWatch* const watch = segment_watch.load(std::memory_order_acquire);
      watch != nullptr && device_) {
    watch->part_came(part_of(chunk->begin, size));
  }
  if (is_host_) poison(chunk->begin, size);
  return chunk.release();
}

void ChunkHeap::insert_free(Chunk* chunk) noexcept {
  chunk->is_free = true;
  chunk->node.value() = chunk;
  free_.insert(std::move(chunk->node));
  free_bytes_ += chunk->bytes;
  cached_ += chunk->resident;
}

void ChunkHeap::remove_free(Chunk* chunk) noexcept {
  chunk->is_free = false;
  chunk->node = free_.extract(chunk);
  free_bytes_ -= chunk->bytes;
  cached_ -= chunk->resident;
}

/// Both are free and out of the tree; the result is too.
Chunk* ChunkHeap::merge_with_next(Chunk* chunk) noexcept {
  Chunk* const gone = chunk->next;
  if (gone->resident > 0) chunk->resident = chunk->bytes + gone->resident;
  chunk->bytes += gone->bytes;
  chunk->next = gone->next;
  if (chunk->next != nullptr) chunk->next->previous = chunk;
  delete gone;
  return chunk;
}

void ChunkHeap::merge_and_insert(Chunk* chunk) noexcept {
  if (Chunk* next = chunk->next; next != nullptr && next->is_free) {
    remove_free(next);
    chunk = merge_with_next(chunk);
  }
  if (Chunk* previous = chunk->previous; previous != nullptr && previous->is_free) {
    remove_free(previous);
    chunk = merge_with_next(previous);
  }
  insert_free(chunk);
}

void ChunkHeap::merge_listed() noexcept {
  if (listed_ == 0) return;
  for (Chunk*& list : lists_) {
    while (list != nullptr) {
      Chunk* const chunk = std::exchange(list, list->next_listed);
      free_bytes_ -= chunk->bytes;
      cached_ -= chunk->bytes;
      merge_and_insert(chunk);
    }
  }
  listed_ = 0;
}

void ChunkHeap::free_locked(Chunk* chunk) noexcept {
  const std::size_t bytes = chunk->bytes;
  if (is_host_) poison(chunk->begin, bytes);
  chunk->resident = bytes;
  if (Chunk** const list = list_of(bytes); list != nullptr && listed_ + bytes <= kMostInLists) {
    chunk->next_listed = std::exchange(*list, chunk);
    listed_ += bytes;
    free_bytes_ += bytes;
    cached_ += bytes;
  } else {
    merge_and_insert(chunk);
  }
  if (cached_ > cache_limit_) trim_locked(cache_limit_);
}

void ChunkHeap::unmap(Chunk* chunk) noexcept {
  remove_free(chunk);
  if (is_host_) unpoison(chunk->begin, chunk->bytes);
  source_.unmap(chunk->begin, chunk->bytes);
  mapped_ -= chunk->bytes;
  segments_.erase(chunk->begin);
  if (SegmentWatch* const watch = segment_watch.load(std::memory_order_acquire);
      watch != nullptr && device_) {
    watch->part_went(part_of(chunk->begin, chunk->bytes));
  }
  delete chunk;
}

void ChunkHeap::trim_locked(std::size_t keep) noexcept {
  merge_listed();
  // Largest first: whole segments leave, parts of segments only lose their pages.
  auto it = free_.end();
  while (cached_ > keep && it != free_.begin()) {
    --it;
    Chunk* const chunk = *it;
    if (chunk->resident == 0) continue;
    if (chunk->previous == nullptr && chunk->next == nullptr) {
      it = std::next(it);
      unmap(chunk);
    } else if (source_.purge(chunk->begin, chunk->resident)) {
      cached_ -= chunk->resident;
      chunk->resident = 0;
    }
  }
}

void ChunkHeap::trim(std::size_t keep) noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked(keep);
  if (keep > 0) return;
  for (auto it = free_.begin(); it != free_.end();) {  // segments whose pages had left before
    Chunk* const chunk = *it++;
    if (chunk->previous == nullptr && chunk->next == nullptr) unmap(chunk);
  }
}

PoolPart ChunkHeap::part_of(const void* begin, std::size_t bytes) const noexcept {
  return {.device = *device_, .begin = begin, .bytes = bytes, .granularity = granularity_};
}

void ChunkHeap::tell_segments(SegmentWatch& watch) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [begin, bytes] : segments_) watch.part_came(part_of(begin, bytes));
}

void ChunkHeap::set_cache_limit(std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  cache_limit_ = bytes;
  if (cached_ > cache_limit_) trim_locked(cache_limit_);
}

std::size_t ChunkHeap::cache_limit() const noexcept {
  const std::lock_guard lock(mutex_);
  return cache_limit_;
}

ChunkHeap::Stats ChunkHeap::stats() noexcept {
  const std::lock_guard lock(mutex_);
  merge_listed();
  return {.mapped = mapped_,
          .cached = cached_,
          .free = free_bytes_,
          .largest_free = free_.empty() ? 0 : (*free_.rbegin())->bytes};
}

ChunkHeap::Outside ChunkHeap::outside() noexcept {
  const std::lock_guard lock(mutex_);
  const Source::Room room = source_.room();
  return {.taken = room.taken > mapped_ ? room.taken - mapped_ : 0, .total = room.total};
}

}  // namespace tenure::mem
