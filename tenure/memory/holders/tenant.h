#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "tenure/base/site.h"
#include "tenure/memory/holders/census.h"
#include "tenure/memory/holders/storage.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/pool/asan.h"
#include "tenure/memory/pool/pool.h"
#include "tenure/memory/threads/fence.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

/// Something that the layers above give a tenant, and that ends with it.
class TenantPart {
 public:
  TenantPart() = default;
  virtual ~TenantPart() = default;
  TenantPart(const TenantPart&) = delete;
  TenantPart& operator=(const TenantPart&) = delete;
};

/// How a tenant comes to be.
struct Birth {
  ThreadContext& context;
  Storage* storage;  ///< the caller's reference goes over to the tenant
  const char* op;    ///< static storage duration
  Site site;
  HolderKind kind = HolderKind::user;
};

/// One holder of a storage, with its identity and history: a tensor, or whatever else keeps data
/// alive (a tape's saved value, a variable). Handles count their references to it; it has a
/// reference to its storage until it is disposed or the last handle goes.
///
/// Tenants live in slots of kTenantSlot bytes; the tensor layer derives from it and adds shape and
/// type in the same slot.
// Note: pins
//
// Any thread may dispose a tensor while another one computes with it. The computation therefore
// pins the tenant: a disposal makes the data unreachable at once, and drops it when the last pin
// goes. The thread that made the tenant pins by plain stores to a counter of its own (see
// threads/fence.h), other threads by atomic additions to a second one. The storage word goes
// through
//
//     storage  --dispose-->  storage|kClosing  --heavy fence-->  storage|kRetired  --no pins-->  0
//
// From kClosing on no pin succeeds. kRetired is published only after the fence: whoever sees it
// also sees every pin that was taken before. The disposer and everyone who unpins under a tag then
// look whether pins are left, after a read-modify-write of one counter that puts them in order: the
// last of them sees none, and drops the data.
//
// A tensor whose data can be given up (evictable.h) has kResult in its storage word from the
// beginning. Its pins are counted a second time, by the storage, and keep the data where it is.
//
// A scope's end disposes without a handle of its own, so the sole handle does not guard against it
// on another thread. Who computes in place or takes a storage over must have it pinned.
class Tenant {
 public:
  Tenant(const Tenant&) = delete;
  Tenant& operator=(const Tenant&) = delete;

  std::uint64_t id() const { return id_.get(); }
  /// Name of the op that made it; static storage duration.
  const char* op() const { return op_; }
  Site created() const { return created_; }
  const NamePath* path() const { return path_; }
  /// Where its storage lies, also after it was disposed; of one without data, where that would.
  Device device() const { return device_; }
  /// The serial number of its storage, also after it was disposed.
  std::uint64_t storage_serial() const { return storage_serial_; }
  HolderKind kind() const { return kind_.load(std::memory_order_relaxed); }
  void set_kind(HolderKind kind) noexcept;
  std::string name() const;
  void set_name(const std::string& name);

  bool is_disposed() const noexcept {
    const std::uintptr_t word = storage_.load(std::memory_order_acquire);
    return word == 0 || (word & kTags) != 0;
  }
  /// Where and by what it was disposed; meaningful once is_disposed().
  Site disposed() const { return disposed_.load(std::memory_order_acquire); }
  const char* disposed_by() const { return disposed_by_.load(std::memory_order_acquire); }

  /// Makes the data unreachable through this tenant; false if it already was. `by` has static
  /// storage duration.
  bool dispose(const char* by, Site site) noexcept;

  /// Excludes it from every scope.
  void keep() noexcept { kept_.store(true, std::memory_order_release); }

  void retain() noexcept { handles_.fetch_add(1, std::memory_order_relaxed); }
  /// True when the caller's is the only handle. Nobody else can then gain one.
  bool sole_handle() const noexcept { return handles_.load(std::memory_order_acquire) == 1; }
  void release() noexcept {
    // The sole owner needs no atomic read-modify-write: there is no one to race with.
    if (sole_handle() || handles_.fetch_sub(1, std::memory_order_acq_rel) == 1) end();
  }

  /// Keeps the storage alive for a computation. Returns nullptr, unpinned, if it is disposed.
  /// Throws OutOfMemory, unpinned, if its data was given up and cannot be computed again.
  Storage* pin(ThreadContext& context) {
    if (owner_ == &context && plain_pins) {
      owner_pins_.store(owner_pins_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      light_fence();
    } else {
      guest_pins_.fetch_add(1, std::memory_order_seq_cst);
    }
    const std::uintptr_t word = storage_.load(std::memory_order_seq_cst);
    if (word == 0 || (word & kAllTags) != 0) [[unlikely]]
      return pin_slowly(context, word);
    return reinterpret_cast<Storage*>(word);
  }
  void unpin(ThreadContext& context) noexcept {
    count_unpin(context);
    if ((storage_.load(std::memory_order_seq_cst) & kAllTags) != 0) [[unlikely]]
      unpin_slowly();
  }

  /// Its data may be given up from here on. Nobody else knows it yet.
  void tag_as_result() noexcept { storage_.fetch_or(kResult, std::memory_order_relaxed); }

  /// Tells the observer that the data is about to be read.
  void announce_use(ThreadContext& context, const char* by, Site site) const noexcept;

  /// The storage, for a census: while one is taken, none is freed. nullptr if disposed.
  Storage* storage() const noexcept {
    const std::uintptr_t word = storage_.load(std::memory_order_acquire);
    return (word & kTags) != 0 ? nullptr : storage_of(word);
  }
  /// The storage, for a caller who has it pinned; also if it was disposed since.
  Storage* pinned_storage() const noexcept {
    return storage_of(storage_.load(std::memory_order_acquire));
  }
  /// Gives the caller, who owns the sole handle and has it pinned, a reference to the storage. The
  /// tenant is then as good as disposed.
  Storage* take_storage() noexcept;

 protected:
  /// With one handle. Nobody sees it before enter().
  explicit Tenant(const Birth& birth) noexcept
      : Tenant(birth, birth.storage->serial(), birth.storage->device()) {
    if (device_ != cpu) [[unlikely]]
      begin_elsewhere(birth.context);
  }
  /// One that never has data, but a part instead: without a storage. It counts as disposed.
  Tenant(const Birth& birth, Device device, std::unique_ptr<TenantPart> part) noexcept
      : Tenant(birth, std::uint64_t{0}, device) {
    part_ = part.release();
    birth.context.tally.tensor_ended();
  }
  ~Tenant() = default;

  /// Gives it its id, once the derived object is whole. From here on a census sees it, and the
  /// innermost scope disposes it at its end.
  void enter(ThreadContext& context) noexcept {
    if (context.scope != nullptr) link(*context.scope);
    const std::uint64_t id = context.ids.next();
    {
      const VitalSection section(context);
      id_.set(id);
    }
    if (needs_attention(context)) [[unlikely]]
      record_birth(context);
  }

  TenantPart* part() const noexcept { return part_; }

 private:
  Tenant(const Birth& birth, std::uint64_t serial, Device device) noexcept
      : handles_(1),
        kind_(birth.kind),
        storage_(reinterpret_cast<std::uintptr_t>(birth.storage)),
        storage_serial_(serial),
        owner_(&birth.context),
        device_(device),
        op_(birth.op),
        created_(birth.site),
        path_(birth.context.path) {}

  friend class Census;
  friend class ScopeEnd;
  friend void receive_mail(ThreadContext& context) noexcept;

  static constexpr std::uintptr_t kClosing = 1;
  static constexpr std::uintptr_t kRetired = 2;
  static constexpr std::uintptr_t kTags = kClosing | kRetired;
  static constexpr std::uintptr_t kResult = 4;
  static constexpr std::uintptr_t kAllTags = kTags | kResult;
  static Storage* storage_of(std::uintptr_t word) noexcept {
    return reinterpret_cast<Storage*>(word & ~kAllTags);
  }
  static const bool plain_pins;

  enum class Tracking : std::uint8_t { none, tracked, ended };

  void begin_elsewhere(ThreadContext& context) const noexcept;
  void count_end(ThreadContext& context) const noexcept;
  void record_birth(ThreadContext& context) const noexcept;
  void count_unpin(ThreadContext& context) noexcept {
    if (owner_ == &context && plain_pins) {
      owner_pins_.store(owner_pins_.load(std::memory_order_relaxed) - 1, std::memory_order_release);
      light_fence();
    } else {
      guest_pins_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  Storage* pin_slowly(ThreadContext& context, std::uintptr_t word);
  void unpin_uncounted(ThreadContext& context) noexcept;
  void unpin_slowly() noexcept;
  void drop_if_unpinned() noexcept;
  void end() noexcept;
  void end_slowly(ThreadContext& context) noexcept;
  void end_for_owner(ThreadContext& context) noexcept;
  void announce_end(ThreadContext& context) noexcept;
  void recycle(ThreadContext& context) noexcept;
  void link(ScopeFrame& scope) noexcept;
  void unlink() noexcept;

  /// 0 while the slot has no tensor. Constructing it writes nothing: a census may be reading the
  /// slot, and must go on finding the 0 that is there until enter().
  class SlotId {
   public:
    SlotId() noexcept {}  // NOLINT(modernize-use-equals-default): defaulted it would be cleared
    std::uint64_t get() const noexcept { return word().load(std::memory_order_relaxed); }
    void set(std::uint64_t id) noexcept { word().store(id, std::memory_order_relaxed); }

   private:
    std::atomic_ref<std::uint64_t> word() const noexcept { return std::atomic_ref(value_); }
    mutable std::uint64_t value_;
  };

  // While the slot is free its first word links it to the next free one, and id_ is 0; the census
  // relies on both being in the slot's first line.
  Tenant* next_ = nullptr;  // in the scope's list
  SlotId id_;
  std::atomic<std::uint32_t> handles_;
  std::atomic<std::uint32_t> owner_pins_{0};
  std::atomic<std::uint32_t> guest_pins_{0};
  std::atomic<HolderKind> kind_;
  std::atomic<Tracking> tracking_{Tracking::none};
  std::atomic<bool> kept_{false};
  std::atomic<std::uintptr_t> storage_;
  std::uint64_t storage_serial_;
  ThreadContext* owner_;
  Tenant** link_ = nullptr;  // what points to this one in the scope's list
  Tenant* next_mail_ = nullptr;
  std::uint32_t scope_depth_ = 0;
  const Device device_;
  const char* op_;
  Site created_;
  const NamePath* path_;
  std::atomic<Site> disposed_{};
  std::atomic<const char*> disposed_by_{nullptr};
  std::atomic<std::string*> name_{nullptr};
  TenantPart* part_ = nullptr;
};

void* allocate_tenant_slow(ThreadContext& context);
/// Memory of kTenantSlot bytes to construct the derived object in. Throws OutOfMemory.
inline void* allocate_tenant(ThreadContext& context) {
  const bool has_mail = context.mailbox.load(std::memory_order_relaxed) != nullptr;
  void* const slot =
      has_mail || needs_attention(context) ? nullptr : take_cached(context, kTenantBin);
  if (slot == nullptr) [[unlikely]]
    return allocate_tenant_slow(context);
  unpoison(slot, kTenantSlot);
  return slot;
}
/// For a slot that did not become a tenant.
inline void free_tenant(ThreadContext& context, void* slot) noexcept {
  poison(static_cast<std::byte*>(slot) + kReadableWhenFree, kTenantSlot - kReadableWhenFree);
  free_small(context, kTenantBin, slot);
}

/// Frees the slots of tracked tensors that other threads ended.
void receive_mail(ThreadContext& context) noexcept;

}  // namespace tenure::mem
