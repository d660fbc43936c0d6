#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "tenure/base/units.h"
#include "tenure/memory/pool/segment_watch.h"
#include "tenure/memory/pool/source.h"

namespace tenure::mem {

struct Chunk;

// Note: small chunks
//
// Where a device's memory cannot hold links, all its blocks are chunks, also the small ones that
// come and go with every op. To merge such a one with its neighbours and to cut it off again takes
// some ten times as long as to keep it: so free chunks of up to 32 KiB lie in lists, one for each
// size, of together at most 4 MiB, with their bookkeeping. They count as free and resident, and are
// merged with the others before the heap takes anything from its source, gives anything back or
// says what its largest free chunk is. On the CPU such blocks come from bins (pool.h).

/// Memory for large blocks: segments mapped from a source, cut into chunks, best fit, with
/// neighbours merged when both are free.
///
/// Bookkeeping lives outside the blocks, which it never touches: they may be of any device. Giving
/// a chunk back never allocates and never fails.
class ChunkHeap {
 public:
  /// The source outlives it and serves nobody else. Of a device's heap a SegmentWatch is told.
  explicit ChunkHeap(Source& source, std::optional<Device> device = {}) noexcept;
  ChunkHeap(const ChunkHeap&) = delete;
  ChunkHeap& operator=(const ChunkHeap&) = delete;
  ~ChunkHeap();

  /// A chunk of at least `bytes`, aligned to the granularity; nullptr when the source refuses.
  Chunk* allocate(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    return allocate_locked(bytes);
  }
  void free(Chunk* chunk) noexcept {
    const std::lock_guard lock(mutex_);
    free_locked(chunk);
  }
  /// The same for whoever has the lock, mutex().
  Chunk* allocate_locked(std::size_t bytes);
  void free_locked(Chunk* chunk) noexcept;
  static void* address(const Chunk* chunk) noexcept;
  static std::size_t bytes(const Chunk* chunk) noexcept;

  /// Gives free memory back to the source until at most `keep` bytes stay resident for reuse.
  void trim(std::size_t keep) noexcept;

  /// Free memory beyond this goes back to the source as soon as it is freed.
  void set_cache_limit(std::size_t bytes) noexcept;
  std::size_t cache_limit() const noexcept;

  struct Stats {
    std::size_t mapped = 0;        ///< address space taken from the source
    std::size_t cached = 0;        ///< free and resident
    std::size_t free = 0;          ///< free, resident or not
    std::size_t largest_free = 0;  ///< the largest single free chunk
  };
  Stats stats() noexcept;

  /// Of the device's memory, what others than this heap have taken, and all that there is.
  struct Outside {
    std::size_t taken = 0;
    std::size_t total = 0;  ///< 0: not known
  };
  Outside outside() noexcept;

  /// Tells of every segment that it has, while none comes or goes.
  void tell_segments(SegmentWatch& watch) const;

  /// Held while nothing may change, as at a fork. The ledger of another device than the CPU has the
  /// same lock (accounts/device_ledger.h).
  std::mutex& mutex() noexcept { return mutex_; }

 private:
  friend struct Chunk;

  struct BySize {
    using is_transparent = void;
    bool operator()(const Chunk* a, const Chunk* b) const noexcept;
    bool operator()(const Chunk* a, std::size_t bytes) const noexcept;
  };
  using FreeSet = std::set<Chunk*, BySize>;

  static std::unique_ptr<Chunk> make_chunk();
  Chunk* map_segment(std::size_t bytes);
  PoolPart part_of(const void* begin, std::size_t bytes) const noexcept;
  void insert_free(Chunk* chunk) noexcept;
  void remove_free(Chunk* chunk) noexcept;
  Chunk* merge_with_next(Chunk* chunk) noexcept;
  void merge_and_insert(Chunk* chunk) noexcept;
  /// The list of chunks of such a size; nullptr: there is none.
  Chunk** list_of(std::size_t bytes) noexcept {
    return bytes <= most_listed_ ? &lists_[bytes >> granularity_bits_] : nullptr;
  }
  void merge_listed() noexcept;
  void unmap(Chunk* chunk) noexcept;
  void trim_locked(std::size_t keep) noexcept;

  static constexpr std::size_t kMostListed = 32 * KiB;
  static constexpr std::size_t kLists = 512;
  static constexpr std::size_t kMostInLists = 4 * MiB;

  Source& source_;
  const std::optional<Device> device_;
  const std::size_t granularity_;
  const int granularity_bits_;
  const std::size_t most_listed_;
  const bool is_host_;
  mutable std::mutex mutex_;
  FreeSet free_;
  std::array<Chunk*, kLists + 1> lists_{};       ///< by size in granules
  std::size_t listed_ = 0;                       ///< bytes in lists
  std::map<const void*, std::size_t> segments_;  // begin -> bytes
  std::size_t mapped_ = 0;
  std::size_t free_bytes_ = 0;
  std::size_t cached_ = 0;
  std::size_t cache_limit_ = static_cast<std::size_t>(-1);
};

}  // namespace tenure::mem
