#include "tenure/memory/holders/storage.h"

#include <array>
#include <memory>
#include <mutex>

#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/evictable.h"
#include "tenure/memory/holders/spare.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/chunk_heap.h"
#include "tenure/memory/recording.h"

namespace tenure::mem {
namespace {

constinit std::atomic<std::uint64_t> writes{0};

/// Where the last writes were noted, by number. Without a lock: a child of fork may need it.
struct WriteSite {
  std::atomic<std::uint64_t> number{0};
  std::atomic<Site> site{};
};
std::array<WriteSite, 256> write_sites;

WriteSite& entry_of(std::uint64_t number) { return write_sites[number % write_sites.size()]; }

/// Something became of its data.
void tell(ThreadContext& context, const Storage& storage, MemoryEvent::Kind kind) noexcept {
  if (!needs_attention(context)) return;
  record(context, {.kind = kind,
                   .storage = storage.serial(),
                   .bytes = static_cast<std::int64_t>(storage.bytes()),
                   .device = storage.device()});
  Observer* const o = observer(context);
  if (o == nullptr) return;
  if (kind == MemoryEvent::Kind::evict) return o->evicted(context, storage);
  if (kind == MemoryEvent::Kind::recompute) return o->recomputed(context, storage);
  o->freed(context, storage);
}

}  // namespace

std::uint64_t latest_write() noexcept { return writes.load(std::memory_order_relaxed); }

Site site_of_write(std::uint64_t number) noexcept {
  const WriteSite& entry = entry_of(number);
  const Site site = entry.site.load(std::memory_order_acquire);
  return entry.number.load(std::memory_order_acquire) == number ? site : Site();
}

void Storage::note_write(Site site) noexcept {
  const std::uint64_t number = writes.fetch_add(1, std::memory_order_relaxed) + 1;
  WriteSite& entry = entry_of(number);
  entry.number.store(0, std::memory_order_release);  // whoever reads it meanwhile finds none
  entry.site.store(site, std::memory_order_release);
  entry.number.store(number, std::memory_order_release);
  last_write_.store(number, std::memory_order_relaxed);
}

Storage* Storage::try_allocate(ThreadContext& context, Device device, std::size_t bytes,
                               Device& lacking) noexcept {
  lacking = cpu;
  if (device == cpu && bytes <= kSmallLimit - sizeof(Storage)) {
    const int bin = size_class(sizeof(Storage) + bytes);
    void* const block = allocate_small(context, bin);
    return block == nullptr ? nullptr : with_data(block, bin, bytes);
  }
  void* const block = allocate_small(context, 0);
  if (block == nullptr) return nullptr;
  Chunk* chunk;
  {
    ChunkHeap& chunks = heap(device);
    const std::lock_guard lock(chunks.mutex());
    chunk = chunks.allocate_locked(bytes);
    if (chunk != nullptr && device != cpu) {
      DeviceLedger::of(device).allocated(context.category, static_cast<std::int64_t>(bytes));
    }
  }
  if (chunk == nullptr) {
    free_small(context, 0, block);
    lacking = device;
    return nullptr;
  }
  auto* const storage = new (block) Storage(0);
  storage->device_ = device;
  storage->data_ = ChunkHeap::address(chunk);
  storage->chunk_ = chunk;
  if (device == cpu) {
    poison(static_cast<std::byte*>(storage->data_) + bytes, ChunkHeap::bytes(chunk) - bytes);
  }
  return storage;
}

Storage* Storage::allocate_slow(ThreadContext& context, Device device, std::size_t bytes) {
  require_device(device, "allocate", Site());
  BudgetAccount* account = nullptr;
  const bool attend = needs_attention(context);
  if (attend) {
    count_down_to_fault(context, bytes, device);
    account = BudgetAccount::charge_current(context, device, bytes);
  }
  Device lacking;
  Storage* storage = try_allocate(context, device, bytes, lacking);
  if (storage == nullptr) {
    do {
      trim(lacking);
      storage = try_allocate(context, device, bytes, lacking);
    } while (storage == nullptr && give_up_spare(nullptr, lacking));
  }
  if (storage == nullptr) {
    if (attend) BudgetAccount::refund_freed(account, device, bytes);
    if (account != nullptr) account->release();
    throw_out_of_memory(OutOfMemory::Cause::system, lacking == device ? bytes : sizeof(Storage),
                        nullptr, lacking);
  }
  storage->budget_ = account;
  if (device == cpu) {
    storage->begin(context, bytes);
  } else {
    storage->describe(context, bytes);
    context.tally.is_elsewhere();
  }
  if (attend) {
    record(context, {.kind = MemoryEvent::Kind::allocate,
                     .storage = storage->serial(),
                     .bytes = static_cast<std::int64_t>(bytes),
                     .device = device});
    if (Observer* const o = observer(context)) o->allocated(context, *storage);
  }
  return storage;
}

Storage* Storage::adopt(ThreadContext& context, void* data, std::size_t bytes, Deleter deleter) {
  auto owned = std::make_unique<Deleter>(std::move(deleter));
  count_down_to_fault(context, bytes);
  void* block = allocate_small(context, 0);
  if (block == nullptr) {
    trim(cpu);
    block = allocate_small(context, 0);
  }
  if (block == nullptr) throw_out_of_memory(OutOfMemory::Cause::system, sizeof(Storage), nullptr);
  auto* const storage = new (block) Storage(0);
  storage->data_ = data;
  storage->bytes_ = bytes;
  storage->category_.store(context.category, std::memory_order_relaxed);
  storage->deleter_ = owned.release();
  storage->serial_ = context.serials.next();
  context.tally.adopted(static_cast<std::int64_t>(bytes));
  return storage;
}

void Storage::destroy() noexcept {
  ThreadContext& context = this_thread();
  bool is_hollow = false;
  if (is_tracked()) [[unlikely]] {
    // Whoever computes something again may have taken a reference since release() looked.
    if (references() != 0 && references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    if (outlives_holders(*this)) return;
    is_hollow = this->is_hollow();
    set_tracked(false);
  }
  if (is_hollow) {
    DeviceLedger::of(device_).ended_evicted(static_cast<std::int64_t>(bytes_));
  } else {
    give_back_data(context);
  }
  Chunk* const chunk = device_ == cpu ? this->chunk() : nullptr;
  BudgetAccount* const account = budget_;
  {
    const VitalSection section(context);
    recycle(context);
  }
  if (account != nullptr) account->release();  // a census may have been looking at it
  if (chunk != nullptr) heap().free(chunk);
}

/// What the books say of it. The CPU's memory itself goes after, that of others with it, as it has
/// the same lock.
void Storage::give_back_data(ThreadContext& context) noexcept {
  if (budget_ != nullptr || deleter_ != nullptr || needs_attention(context)) [[unlikely]]
    settle_accounts(context);
  if (device_ != cpu) {
    ChunkHeap& chunks = heap(device_);
    const std::lock_guard lock(chunks.mutex());
    DeviceLedger::of(device_).freed(category(), static_cast<std::int64_t>(bytes_));
    chunks.free_locked(chunk());
  } else if (!is_foreign()) {
    context.tally.freed(category(), static_cast<std::int64_t>(bytes_));
  }
}

void Storage::hollow_out(ThreadContext& context) noexcept {
  BudgetAccount::refund_freed(budget_, device_, bytes_);
  tell(context, *this, MemoryEvent::Kind::evict);
  const auto bytes = static_cast<std::int64_t>(bytes_);
  if (device_ != cpu) {
    const std::lock_guard lock(heap(device_).mutex());
    DeviceLedger::of(device_).freed(category(), bytes);
  } else {
    context.tally.freed(category(), bytes);
  }
  DeviceLedger::of(device_).evicted(bytes);
  Chunk* const given_up = chunk();
  {
    const VitalSection section(context);  // a census may be asking whether it is hollow
    data_ = nullptr;
    chunk_word().store(kTracked);
  }
  heap(device_).free(given_up);
}

void Storage::refill(ThreadContext& context, Storage* other) noexcept {
  other->set_category(context, category());
  tell(context, *other, MemoryEvent::Kind::free);
  BudgetAccount* const charged_before = budget_;
  {
    const VitalSection section(context);
    data_ = other->data_;
    chunk_word().store(reinterpret_cast<std::uintptr_t>(other->chunk()) | kTracked);
    budget_ = other->budget_;
    other->recycle(context);
  }
  if (charged_before != nullptr) charged_before->release();
  DeviceLedger::of(device_).recomputed(static_cast<std::int64_t>(bytes_));
  tell(context, *this, MemoryEvent::Kind::recompute);
}

void Storage::settle_accounts(ThreadContext& context) noexcept {
  if (is_foreign()) {
    try {
      (*deleter_)(data_);
    } catch (...) {  // NOLINT(bugprone-empty-catch): creation.h says that it is dropped
    }
    delete deleter_;
    context.tally.returned(static_cast<std::int64_t>(bytes_));
    return;
  }
  BudgetAccount::refund_freed(budget_, device_, bytes_);
  tell(context, *this, MemoryEvent::Kind::free);
}

void Storage::recategorize(ThreadContext& context, Category category) noexcept {
  const Category before = this->category();
  if (device_ == cpu) {
    context.tally.moved(before, category, static_cast<std::int64_t>(bytes_));
  } else {
    DeviceLedger::of(device_).moved(before, category, static_cast<std::int64_t>(bytes_));
  }
  category_.store(category, std::memory_order_relaxed);
  if (Observer* const o = observer(context)) o->recategorized(context, *this);
}

}  // namespace tenure::mem
