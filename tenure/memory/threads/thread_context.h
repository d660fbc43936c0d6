#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tenure/memory/accounts/numbers.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/pool/size_class.h"

namespace tenure::mem {

class BudgetFrame;
class CategoryFrame;
class NameFrame;
class NamePath;
class ScopeFrame;
class Tenant;

/// A free block; its first word links it to the next one.
struct FreeBlock {
  FreeBlock* next;
};

/// Everything that is per thread, behind one pointer. Contexts are never freed: when a thread ends,
/// its context waits for the next thread, which takes over its caches, counts and mail.
struct alignas(64) ThreadContext {
  /// Set while this thread makes or ends a tensor; see holders/census.h.
  std::atomic<std::uint32_t> busy{0};
  /// Nonzero when allocations of this thread must take the long way: a budget or a fault is set.
  std::uint32_t attention = 0;
  Category category = Category::activation;
  /// The tensor that a scope's end is disposing must stay: mail waits.
  bool scope_is_ending = false;
  ScopeFrame* scope = nullptr;     ///< the innermost; see frame.h
  const NamePath* path = nullptr;  ///< that `names` make
  BudgetFrame* budget = nullptr;
  std::int64_t fail_after = -1;  ///< allocations until an injected fault; negative: none

  Numbers<&shared_ids> ids;          ///< of tensors
  Numbers<&shared_serials> serials;  ///< of storages

  struct Bin {
    FreeBlock* head = nullptr;
    std::atomic<std::uint32_t> count{0};
  };
  Bin bins[kSizeClasses + 1];  ///< the last is for tensors' records

  Tally tally;

  /// Tensors of this thread's scopes that other threads ended; see scope.h.
  std::atomic<Tenant*> mailbox{nullptr};

  NameFrame* names = nullptr;
  CategoryFrame* categories = nullptr;
  NamePath* paths = nullptr;  ///< all that this thread made and that were not freed
  std::size_t path_count = 0;
  std::size_t path_limit = 0;  ///< when to look which of them are in use

  std::uint32_t number = 0;       ///< small and stable, for reports
  void* observed = nullptr;       ///< what the observer keeps for this thread
  ThreadContext* next = nullptr;  ///< all contexts, newest first; never unlinked
  bool in_use = true;             ///< guarded by the registry's lock
};

/// Bits of `attention`.
inline constexpr std::uint32_t kAttendBudget = 1;
inline constexpr std::uint32_t kAttendFault = 2;
/// Bits of `process_attention`.
inline constexpr std::uint32_t kAttendRecording = 4;
inline constexpr std::uint32_t kAttendProcessBudget = 8;
inline constexpr std::uint32_t kAttendObserver = 16;

/// The same for all threads at once.
extern std::atomic<std::uint32_t> process_attention;

extern constinit thread_local ThreadContext* current_context
    __attribute__((tls_model("initial-exec")));
ThreadContext& attach_thread();

inline ThreadContext& this_thread() {
  if (current_context == nullptr) [[unlikely]]
    return attach_thread();
  return *current_context;
}

inline bool needs_attention(const ThreadContext& context) {
  return (context.attention | process_attention.load(std::memory_order_relaxed)) != 0;
}

/// Head of the list of all contexts.
ThreadContext* all_contexts() noexcept;

}  // namespace tenure::mem
