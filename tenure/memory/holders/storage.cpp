#include "tenure/memory/holders/storage.h"

#include <array>
#include <memory>

#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/budget.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/holders/census.h"
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
  Chunk* const chunk = heap(device).allocate(bytes);
  if (chunk == nullptr) {
    lacking = device;
    return nullptr;
  }
  void* const block = allocate_small(context, 0);
  if (block == nullptr) {
    heap(device).free(chunk);
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
  require_device(device, "allocate");
  BudgetAccount* account = nullptr;
  const bool attend = needs_attention(context);
  if (attend) {
    count_down_to_fault(context, bytes, device);
    account = BudgetAccount::charge_current(context, device, bytes);
  }
  Device lacking;
  Storage* storage = try_allocate(context, device, bytes, lacking);
  if (storage == nullptr) {
    trim(lacking);
    storage = try_allocate(context, device, bytes, lacking);
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
    DeviceLedger::of(device).allocated(context.category, static_cast<std::int64_t>(bytes));
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
  if (budget_ != nullptr || deleter_ != nullptr || needs_attention(context)) [[unlikely]]
    settle_accounts(context);
  const Device device = device_;
  if (device != cpu) {
    DeviceLedger::of(device).freed(category(), static_cast<std::int64_t>(bytes_));
  } else if (!is_foreign()) {
    context.tally.freed(category(), static_cast<std::int64_t>(bytes_));
  }
  Chunk* const chunk = chunk_;
  BudgetAccount* const account = budget_;
  {
    const VitalSection section(context);
    recycle(context);
  }
  if (account != nullptr) account->release();  // a census may have been looking at it
  if (chunk != nullptr) heap(device).free(chunk);
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
  record(context, {.kind = MemoryEvent::Kind::free,
                   .storage = serial_,
                   .bytes = static_cast<std::int64_t>(bytes_),
                   .device = device_});
  if (Observer* const o = observer(context)) o->freed(context, *this);
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
