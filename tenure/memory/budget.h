#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tenure/memory/thread_context.h"

namespace tenure::mem {

/// The books of one budget. Lives as long as the Budget, an entered thread, a child account or a
/// storage that was charged to it.
class BudgetAccount {
 public:
  BudgetAccount(std::string name, std::size_t limit, BudgetAccount* parent);

  const std::string& name() const { return name_; }
  std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  std::size_t used() const { return unsigned_of(used_.load(std::memory_order_relaxed)); }
  std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }

  /// Charges the thread's innermost budget and all above it, or none and throws OutOfMemory.
  /// Returns the account that the storage must be refunded to, with a reference; or nullptr.
  static BudgetAccount* charge_current(ThreadContext& context, std::size_t bytes);
  /// A storage that was charged to `account` (nullptr: to none) is gone.
  static void refund_freed(BudgetAccount* account, std::size_t bytes) noexcept;

  /// Counts bytes that were allocated before the account was opened.
  void start_with(std::int64_t used) noexcept { used_.store(used, std::memory_order_relaxed); }

  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  ~BudgetAccount() = default;
  /// Charges it and all above it. Returns the one that refuses; then none is charged.
  const BudgetAccount* charge(std::size_t bytes) noexcept;
  void uncharge(std::size_t bytes) noexcept {
    used_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  static std::size_t unsigned_of(std::int64_t used) {
    return used > 0 ? static_cast<std::size_t>(used) : 0;
  }

  const std::string name_;
  std::atomic<std::size_t> limit_;
  BudgetAccount* const parent_;
  // Signed: what other threads allocated while the process budget was set is refunded and may not
  // have been charged.
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::uint32_t> references_{1};
};

}  // namespace tenure::mem

namespace tenure {

/// A limit on the bytes that this thread allocates while the object lives. Budgets nest: an
/// allocation counts in all of them and must fit in each. What was allocated under a budget counts
/// until it is freed, also after the budget's end (then in the outer ones). Past the limit
/// an allocation throws OutOfMemory, and every existing tensor stays as it is.
class Budget {
 public:
  Budget(std::string name, std::size_t limit);
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const std::string& name() const { return account_->name(); }
  std::size_t limit() const { return account_->limit(); }
  /// Bytes charged to it and not yet freed.
  std::size_t used() const { return account_->used(); }
  std::size_t peak() const { return account_->peak(); }
  std::size_t available() const { return used() < limit() ? limit() - used() : 0; }

  /// Charges this thread's allocations to a budget of another thread while it lives.
  class Enter {
   public:
    explicit Enter(const Budget& budget);
    ~Enter();
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    mem::BudgetAccount* account_;
    mem::BudgetAccount* outer_;
  };

 private:
  mem::BudgetAccount* account_;
  mem::BudgetAccount* outer_;
};

/// A limit on all that Tenure holds in this process, whatever thread allocates; every other budget
/// lies within it. What is live now counts, but for what other threads are just allocating. No
/// limit until this is called; kNoLimit lifts it.
inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);
void set_process_budget(std::size_t limit);

}  // namespace tenure
