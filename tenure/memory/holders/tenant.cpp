#include "tenure/memory/holders/tenant.h"

#include <mutex>
#include <utility>

#include "tenure/memory/accounts/device_ledger.h"
#include "tenure/memory/fault.h"
#include "tenure/memory/holders/evictable.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/recording.h"
#include "tenure/memory/scope.h"
#include "tenure/memory/threads/fork.h"

namespace tenure::mem {
namespace {

constinit std::mutex names_mutex;

}  // namespace

std::mutex& name_mutex() noexcept { return names_mutex; }

const bool Tenant::plain_pins = has_asymmetric_fence();

void* allocate_tenant_slow(ThreadContext& context) {
  receive_mail(context);
  count_down_to_fault(context, kTenantSlot);
  void* slot = allocate_small(context, kTenantBin);
  if (slot == nullptr) {
    trim(cpu);
    slot = allocate_small(context, kTenantBin);
  }
  if (slot == nullptr) throw_out_of_memory(OutOfMemory::Cause::system, kTenantSlot, nullptr);
  unpoison(slot, kTenantSlot);
  return slot;
}

void Tenant::begin_elsewhere(ThreadContext& context) const noexcept {
  context.tally.tensor_ended();  // the CPU has none more
  DeviceLedger::of(device_).tensor_began();
}

void Tenant::count_end(ThreadContext& context) const noexcept {
  if (device_ == cpu) return context.tally.tensor_ended();
  DeviceLedger::of(device_).tensor_ended();
}

void Tenant::record_birth(ThreadContext& context) const noexcept {
  if (is_disposed()) return;  // it has a part instead of data
  const Storage& storage = *pinned_storage();
  record(context, {.kind = MemoryEvent::Kind::create,
                   .tensor = id(),
                   .storage = storage.serial(),
                   .bytes = static_cast<std::int64_t>(storage.bytes()),
                   .device = device_,
                   .op = op_,
                   .site = created_});
  if (Observer* const o = observer(context)) o->created(context, *this, storage);
}

void Tenant::announce_use(ThreadContext& context, const char* by, Site site) const noexcept {
  if (Observer* const o = observer(context)) o->used(context, *this, by, site);
}

void Tenant::set_kind(HolderKind kind) noexcept {
  if (kind_.exchange(kind, std::memory_order_relaxed) == kind) return;
  ThreadContext& context = this_thread();
  if (Observer* const o = observer(context)) o->kind_changed(context, *this);
}

void Tenant::link(ScopeFrame& scope) noexcept {
  next_ = scope.first;
  link_ = &scope.first;
  if (next_ != nullptr) next_->link_ = &next_;
  scope.first = this;
  scope_depth_ = scope.depth;
  tracking_.store(Tracking::tracked, std::memory_order_relaxed);
}

void Tenant::unlink() noexcept {
  *link_ = next_;
  if (next_ != nullptr) next_->link_ = link_;
  link_ = nullptr;
}

Storage* Tenant::take_storage() noexcept {
  ThreadContext& context = this_thread();
  // A scope of another thread may be disposing it. Once that scope has let go, its tag is visible.
  const bool contested =
      owner_ != &context && tracking_.load(std::memory_order_acquire) != Tracking::none;
  std::uintptr_t word = storage_.load(std::memory_order_acquire);
  bool taken = (word & kTags) == 0;
  if (taken && contested) [[unlikely]] {
    taken = storage_.compare_exchange_strong(word, 0, std::memory_order_acq_rel);
  } else if (taken) {
    storage_.store(0, std::memory_order_relaxed);
  }
  Storage* const storage = storage_of(word);
  if (taken) {
    count_end(context);
  } else {
    storage->retain();  // the disposed reference goes with the pin
  }
  return storage;
}

bool Tenant::dispose(const char* by, Site site) noexcept {
  std::uintptr_t word = storage_.load(std::memory_order_acquire);
  if (word == 0 || (word & kTags) != 0) return false;
  const std::uint64_t id = this->id();  // a scope's end may outlast it
  disposed_.store(site, std::memory_order_relaxed);
  disposed_by_.store(by, std::memory_order_relaxed);
  if (!storage_.compare_exchange_strong(word, word | kClosing, std::memory_order_seq_cst)) {
    return false;
  }
  ThreadContext& context = this_thread();
  count_end(context);
  if (needs_attention(context)) [[unlikely]] {
    const Storage* const storage = storage_of(word);
    record(context, {.kind = MemoryEvent::Kind::dispose,
                     .tensor = id,
                     .storage = storage->serial(),
                     .bytes = static_cast<std::int64_t>(storage->bytes()),
                     .device = device_,
                     .op = op_,
                     .site = site});
    if (Observer* const o = observer(context))
      o->disposed(context, id, storage->serial(), by, site);
  }
  if (owner_ != &context) heavy_fence();
  storage_.store(word | kRetired, std::memory_order_seq_cst);
  drop_if_unpinned();
  return true;
}

void Tenant::drop_if_unpinned() noexcept {
  // Orders this thread's dispose or unpin, which may have been a plain store, and the others'.
  if (guest_pins_.fetch_add(0, std::memory_order_acq_rel) != 0) return;
  std::uintptr_t word = storage_.load(std::memory_order_seq_cst);
  if ((word & kRetired) == 0) return;
  if (owner_pins_.load(std::memory_order_seq_cst) != 0) return;
  if (!storage_.compare_exchange_strong(word, 0, std::memory_order_seq_cst)) return;
  storage_of(word)->release();
}

Storage* Tenant::pin_slowly(ThreadContext& context, std::uintptr_t word) {
  if (word == 0 || (word & kTags) != 0) {
    unpin_uncounted(context);
    return nullptr;
  }
  try {
    pin_result(context, *storage_of(word));
  } catch (...) {
    unpin_uncounted(context);
    throw;
  }
  return storage_of(word);
}

/// One that the storage does not know of.
void Tenant::unpin_uncounted(ThreadContext& context) noexcept {
  count_unpin(context);
  if ((storage_.load(std::memory_order_seq_cst) & kTags) != 0) drop_if_unpinned();
}

void Tenant::unpin_slowly() noexcept {
  const std::uintptr_t word = storage_.load(std::memory_order_seq_cst);
  if ((word & kResult) != 0) unpin_result(storage_serial_);
  if ((word & kTags) != 0) drop_if_unpinned();
}

void Tenant::end() noexcept {
  ThreadContext& context = this_thread();
  if (tracking_.load(std::memory_order_acquire) != Tracking::none) {
    // Tracked and not linked: its scope is disposing it, and freed foreign memory whose deleter had
    // the last handle.
    if (owner_ != &context || link_ == nullptr) [[unlikely]]
      return end_for_owner(context);
    unlink();
  }
  // Nobody else knows of it any more.
  Storage* const storage = storage_of(storage_.load(std::memory_order_acquire));
  if (storage == nullptr || storage->is_shared() || !storage->is_simple() ||
      needs_attention(context) || name_.load(std::memory_order_acquire) != nullptr) {
    return end_slowly(context);
  }
  context.tally.both_ended(storage->category(), static_cast<std::int64_t>(storage->bytes()));
  const VitalSection section(context);
  id_.set(0);
  storage->recycle(context);
  free_tenant(context, this);
}

void Tenant::end_slowly(ThreadContext& context) noexcept {
  if (const std::uintptr_t word = storage_.load(std::memory_order_acquire); word != 0) {
    storage_.store(0, std::memory_order_relaxed);
    count_end(context);
    storage_of(word)->release();
  }
  announce_end(context);
  recycle(context);
}

/// Ends a tensor that a scope, usually of another thread, still lists. Only that thread may touch
/// its list, so the slot goes to its mailbox, and the scope may be disposing the tensor just now: a
/// tag in the storage word means that the data is the scope's to drop.
void Tenant::end_for_owner(ThreadContext& context) noexcept {
  std::uintptr_t word = storage_.load(std::memory_order_acquire);
  if (word != 0 && (word & kTags) == 0 && storage_.compare_exchange_strong(word, 0)) {
    count_end(context);
    storage_of(word)->release();
  }
  announce_end(context);
  ThreadContext& owner = *owner_;
  if (tracking_.exchange(Tracking::ended, std::memory_order_acq_rel) == Tracking::none) {
    return recycle(context);
  }
  next_mail_ = owner.mailbox.load(std::memory_order_relaxed);
  while (!owner.mailbox.compare_exchange_weak(next_mail_, this, std::memory_order_release)) {
  }
}

void Tenant::announce_end(ThreadContext& context) noexcept {
  if (needs_attention(context)) [[unlikely]] {
    record(context, {.kind = MemoryEvent::Kind::destroy,
                     .tensor = id(),
                     .storage = storage_serial_,
                     .device = device_,
                     .op = op_,
                     .site = created_});
    if (Observer* const o = observer(context)) o->destroyed(context, *this);
  }
  context.tally.body_ended();
  const VitalSection section(context);
  id_.set(0);
}

void Tenant::recycle(ThreadContext& context) noexcept {
  delete name_.load(std::memory_order_acquire);
  delete part_;
  free_tenant(context, this);
}

void receive_mail(ThreadContext& context) noexcept {
  if (context.scope_is_ending || context.mailbox.load(std::memory_order_relaxed) == nullptr) return;
  Tenant* mail = context.mailbox.exchange(nullptr, std::memory_order_acquire);
  while (mail != nullptr) {
    Tenant* const next = mail->next_mail_;
    if (mail->link_ != nullptr) mail->unlink();
    mail->recycle(context);
    mail = next;
  }
}

std::string Tenant::name() const {
  const std::lock_guard lock(names_mutex);
  const std::string* const name = name_.load(std::memory_order_acquire);
  return name == nullptr ? std::string() : *name;
}

void Tenant::set_name(const std::string& name) {
  auto* const fresh = or_out_of_memory([&] { return new std::string(name); });
  {
    const std::lock_guard lock(names_mutex);
    delete name_.exchange(fresh, std::memory_order_acq_rel);
  }
  ThreadContext& context = this_thread();
  if (Observer* const o = observer(context)) o->named(context, *this, name);
}

}  // namespace tenure::mem
