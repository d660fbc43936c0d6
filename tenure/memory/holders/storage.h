#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "tenure/base/site.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/pool/asan.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

class BudgetAccount;
struct Chunk;

/// A reference-counted buffer on one device. The header is one cache line, on the CPU; the data of
/// small buffers there follows it in the same block.
class alignas(kAlignment) Storage {
 public:
  using Deleter = std::function<void(void*)>;

  /// A buffer of `bytes` with one reference. Throws OutOfMemory, or ValueError for an absent
  /// device, and then has changed nothing.
  static Storage* allocate(ThreadContext& context, Device device, std::size_t bytes) {
    if (device == cpu && bytes <= kSmallLimit - sizeof(Storage) && !needs_attention(context))
        [[likely]] {
      const int bin = size_class(sizeof(Storage) + bytes);
      if (void* const block = take_cached(context, bin)) [[likely]]
        return with_data(block, bin, bytes)->begin(context, bytes);
    }
    return allocate_slow(context, device, bytes);
  }
  /// Memory of the user's on the CPU, given back through `deleter` when the last reference goes.
  static Storage* adopt(ThreadContext& context, void* data, std::size_t bytes, Deleter deleter);

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  /// False, and no reference, if the last one has gone.
  bool retain_if_alive() noexcept {
    std::uint32_t now = references_.load(std::memory_order_relaxed);
    while (now != 0) {
      if (references_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  /// Frees the buffer with the last reference: at once, but see pool/source.h for a device that
  /// computes later.
  void release() noexcept {
    if (is_shared() && references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    destroy();
  }
  bool is_shared() const noexcept { return references_.load(std::memory_order_acquire) != 1; }

  /// nullptr while it is hollow.
  void* data() const noexcept { return data_; }
  std::size_t bytes() const noexcept { return bytes_; }
  Device device() const noexcept { return device_; }
  Category category() const noexcept { return category_.load(std::memory_order_relaxed); }
  /// For whoever has the only reference. Memory of the user's is in no category.
  void set_category(ThreadContext& context, Category category) noexcept {
    if (!is_foreign() && category != this->category()) recategorize(context, category);
  }
  /// That was charged for it; for a census.
  const BudgetAccount* budget() const noexcept { return budget_; }
  BudgetAccount* budget() noexcept { return budget_; }
  bool is_foreign() const noexcept { return deleter_ != nullptr; }
  std::uint32_t references() const noexcept { return references_.load(std::memory_order_relaxed); }

  /// Names the storage for good: no two of a process have the same.
  std::uint64_t serial() const noexcept { return serial_; }

  /// Somebody may write to the data from here on, without asking again.
  void note_write(Site site) noexcept;
  /// When that was last noted, in the order of all such notes; 0: never.
  std::uint64_t last_write() const noexcept { return last_write_.load(std::memory_order_relaxed); }

  // See evictable.h; all for whoever has its lock, but for is_tracked() and is_hollow().

  bool is_tracked() const noexcept { return (chunk_word().load() & kTracked) != 0; }
  void set_tracked(bool is) noexcept {
    chunk_word().store(is ? chunk_word().load() | kTracked : chunk_word().load() & ~kTracked);
  }
  /// Its data was given up.
  bool is_hollow() const noexcept { return data_ == nullptr && bytes_ != 0 && is_tracked(); }
  /// Whether it can be: its data is in no block with the header.
  bool can_be_hollow() const noexcept { return chunk() != nullptr; }
  /// Gives up the data.
  void hollow_out(ThreadContext& context) noexcept;
  /// Takes over the data of `other`, of as many bytes, to which the caller has the only reference;
  /// that ends with it.
  void refill(ThreadContext& context, Storage* other) noexcept;
  /// For outlives_holders(): the caller has a reference again.
  void revive() noexcept { references_.store(1, std::memory_order_relaxed); }

  /// It lies on the CPU, and its end concerns nobody but its block and the ledger's counts.
  bool is_simple() const noexcept {
    // In this order: whoever evicts changes the others of a tracked storage alone.
    return chunk_word().load() == 0 && budget_ == nullptr && deleter_ == nullptr;
  }
  /// Gives the block back, within a VitalSection; whoever calls it has settled the rest.
  void recycle(ThreadContext& context) noexcept {
    const int bin = bin_;
    poison(this + 1, bin_bytes(bin) - sizeof(Storage));
    free_small(context, bin, this);
  }

 private:
  explicit Storage(int bin) noexcept : bin_(static_cast<std::uint8_t>(bin)) {}
  static Storage* allocate_slow(ThreadContext& context, Device device, std::size_t bytes);
  /// nullptr when there is no memory: `lacking` then says on which device.
  static Storage* try_allocate(ThreadContext& context, Device device, std::size_t bytes,
                               Device& lacking) noexcept;
  static Storage* with_data(void* block, int bin, std::size_t bytes) noexcept {
    auto* const storage = new (block) Storage(bin);
    storage->data_ = storage + 1;
    unpoison(storage->data_, bytes);
    return storage;
  }
  void describe(ThreadContext& context, std::size_t bytes) noexcept {
    bytes_ = bytes;
    category_.store(context.category, std::memory_order_relaxed);
    serial_ = context.serials.next();
  }
  /// Enters one on the CPU in the ledger.
  Storage* begin(ThreadContext& context, std::size_t bytes) noexcept {
    describe(context, bytes);
    context.tally.allocated(context.category, static_cast<std::int64_t>(bytes));
    return this;
  }
  void recategorize(ThreadContext& context, Category category) noexcept;
  void destroy() noexcept;
  void settle_accounts(ThreadContext& context) noexcept;
  void give_back_data(ThreadContext& context) noexcept;

  static constexpr std::uintptr_t kTracked = 1;
  /// Relaxed: who asks whether it is tracked need not see what else changes.
  class ChunkWord {
   public:
    explicit ChunkWord(Chunk*& word) noexcept : word_(word) {}
    std::uintptr_t load() const noexcept {
      return reinterpret_cast<std::uintptr_t>(word_.load(std::memory_order_relaxed));
    }
    void store(std::uintptr_t word) noexcept {
      word_.store(reinterpret_cast<Chunk*>(word), std::memory_order_relaxed);
    }

   private:
    std::atomic_ref<Chunk*> word_;
  };
  ChunkWord chunk_word() const noexcept { return ChunkWord(chunk_); }
  Chunk* chunk() const noexcept {
    return reinterpret_cast<Chunk*>(chunk_word().load() & ~kTracked);
  }

  std::atomic<std::uint32_t> references_{1};
  std::atomic<Category> category_{Category::activation};  // a census may read while it changes
  Device device_{};
  std::uint8_t bin_ = 0;  // of the block that begins with this header
  std::size_t bytes_ = 0;
  void* data_ = nullptr;
  // Of the data, when it does not follow the header; and whether the storage is tracked.
  mutable Chunk* chunk_ = nullptr;
  BudgetAccount* budget_ = nullptr;  // that was charged for it
  Deleter* deleter_ = nullptr;       // of foreign memory
  std::uint64_t serial_ = 0;
  std::atomic<std::uint64_t> last_write_{0};
};
static_assert(sizeof(Storage) == kAlignment);

/// The last write that was noted in this process.
std::uint64_t latest_write() noexcept;
/// Where write `number` was noted; unknown if many came after it.
Site site_of_write(std::uint64_t number) noexcept;

}  // namespace tenure::mem
