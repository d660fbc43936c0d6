#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "tenure/memory/default_device.h"
#include "tenure/memory/kinds.h"
#include "tenure/memory/threads/frame.h"
#include "tenure/memory/threads/thread_context.h"

namespace tenure::mem {

/// The books of one budget, and of those around it on the same device. Its limit holds as long as
/// the Budget or an entered thread; its counts as long as a storage that was charged to it or to
/// one inside.
class BudgetAccount {
 public:
  /// Inside `outer`, which may be null, and inside all that it lies in and that still hold.
  BudgetAccount(std::string name, std::size_t limit, Device device, BudgetAccount* outer,
                bool evicts = false);

  const std::string& name() const { return name_; }
  /// From 1 up, in the order of beginning.
  std::uint64_t number() const { return number_; }
  /// The next one around it, or nullptr.
  const BudgetAccount* around() const { return around_.empty() ? nullptr : around_.front(); }
  /// Whether it limits all that is on the device.
  bool is_of_process() const noexcept;
  Device device() const { return device_; }
  std::size_t limit() const { return limit_.load(std::memory_order_relaxed); }
  void set_limit(std::size_t limit) { limit_.store(limit, std::memory_order_relaxed); }
  std::size_t used() const { return unsigned_of(used_.load(std::memory_order_relaxed)); }
  std::size_t peak() const { return peak_.load(std::memory_order_relaxed); }

  /// Whether results that are charged to it may be given up: it evicts, or one around it does, and
  /// still holds.
  bool is_evicting() const noexcept;

  /// Charges the thread's innermost budget of the device and all above it, or none and throws
  /// OutOfMemory; before it does, it gives up results if it may. Returns the account that the
  /// storage must be refunded to, with a reference; or nullptr.
  static BudgetAccount* charge_current(ThreadContext& context, Device device, std::size_t bytes);
  /// A storage on `device` that was charged to `account` (nullptr: to none) is gone. Its reference
  /// stays.
  static void refund_freed(BudgetAccount* account, Device device, std::size_t bytes) noexcept;
  /// Whether what lies on `device` and was charged to `charged` (nullptr: to none) counts in
  /// `account`.
  static bool counts_in(const BudgetAccount* charged, Device device,
                        const BudgetAccount& account) noexcept;

  /// Counts bytes that were allocated before the account was opened.
  void start_with(std::int64_t used) noexcept { used_.store(used, std::memory_order_relaxed); }

  /// Open once from the beginning; with the last close() its limit is lifted.
  void open() noexcept { openings_.fetch_add(1, std::memory_order_relaxed); }
  void close() noexcept;
  bool is_open() const noexcept { return openings_.load(std::memory_order_relaxed) != 0; }

  /// References of those who charge it; accounts inside have references to the books alone.
  void retain() noexcept { references_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept;

 private:
  ~BudgetAccount() = default;
  void release_books() noexcept;
  /// Charges the account at `depth` (0: this one, then those around it) and all further out.
  /// Returns the one that refuses; then none is charged.
  const BudgetAccount* charge(std::size_t bytes, std::size_t depth = 0) noexcept;
  /// Charges `account`, which may be null, and the process's. Returns the one that refuses; then
  /// none is charged.
  static const BudgetAccount* charge_all(BudgetAccount* account, Device device,
                                         std::size_t bytes) noexcept;
  void uncharge(std::size_t bytes) noexcept {
    used_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  static std::size_t unsigned_of(std::int64_t used) {
    return used > 0 ? static_cast<std::size_t>(used) : 0;
  }

  const std::string name_;
  const std::uint64_t number_;
  const Device device_;
  const bool evicts_;
  std::atomic<std::size_t> limit_;
  // Signed: what other threads allocated while the process budget was set is refunded and may not
  // have been charged.
  std::atomic<std::int64_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::uint32_t> openings_{1};
  std::atomic<std::uint32_t> references_{1};
  std::atomic<std::uint32_t> book_references_{1};  // all of references_ together have one
  // The next one first. They go with the last of references_, or budgets that replace each other,
  // each begun before the last one's end, would form an endless chain.
  std::vector<BudgetAccount*> around_;
};

/// A budget in force on a thread; has a reference to its account.
class BudgetFrame : public Frame<BudgetFrame> {
 public:
  BudgetFrame(ThreadContext& context, BudgetAccount* account) noexcept
      : Frame(context), account(account) {}
  ~BudgetFrame() { account->release(); }
  BudgetAccount* const account;
};

/// While it lives, this thread's allocations on the device of `account` are charged to that, also
/// if its budget has ended.
class ChargeTo {
 public:
  explicit ChargeTo(BudgetAccount& account);
  ~ChargeTo();
  ChargeTo(const ChargeTo&) = delete;
  ChargeTo& operator=(const ChargeTo&) = delete;

 private:
  BudgetFrame* frame_;
};

}  // namespace tenure::mem

namespace tenure {

inline constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

/// A number of bytes for a limit. Numbers that are below 0, as differences may be, are refused by
/// whoever takes it; as a std::size_t they would be no limit.
class ByteLimit {
 public:
  template <class Number>
  requires std::is_arithmetic_v<Number> ByteLimit(Number bytes) : is_valid_(bytes >= Number(0)) {
    constexpr auto kMost = static_cast<long double>(kNoLimit);
    if (is_valid_) {
      bytes_ = static_cast<long double>(bytes) < kMost ? static_cast<std::size_t>(bytes) : kNoLimit;
    }
  }
  /// Throws ValueError for a number below 0 or none.
  std::size_t bytes(const char* op, Site site) const;

 private:
  bool is_valid_;
  std::size_t bytes_ = 0;
};

/// A limit on the bytes that this thread allocates on a device while the object lives. Budgets of
/// one device nest: an allocation counts in all of them and must fit in each. What was allocated
/// under a budget counts until it is freed, also after the budget's end (then in the outer ones).
/// Past the limit an allocation throws OutOfMemory, and every existing tensor stays as it is.
///
/// A budget that evicts first gives up the data of results that can be computed again, those that
/// are cheapest to do without, and they are computed again when they are used: a program may fit
/// that does not otherwise, and computes the same bits. Those are results of eager ops in it and in
/// the budgets inside it, but for small ones and those that somebody has a span() of.
///
/// Budgets may end in any order: each holds until its own end. One that ends on another thread no
/// longer limits its thread from then on; one whose thread has ended still holds where it was
/// entered.
class Budget {
 public:
  struct Options {
    bool evict = false;  ///< results may be given up and computed again
  };
  /// Throws ValueError for a limit below 0 and for an absent device.
  Budget(std::string name, ByteLimit limit, Device device = default_device(),
         Site site = Site::current());
  Budget(std::string name, ByteLimit limit, Options options, Device device = default_device(),
         Site site = Site::current());
  ~Budget();
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  const std::string& name() const { return account_->name(); }
  Device device() const { return account_->device(); }
  std::size_t limit() const { return account_->limit(); }
  /// Bytes charged to it and not yet freed.
  std::size_t used() const { return account_->used(); }
  std::size_t peak() const { return account_->peak(); }
  std::size_t available() const { return used() < limit() ? limit() - used() : 0; }

  /// The innermost budget of each device of the thread that makes it, for a thread that works on
  /// its behalf. The limits hold as long as this lives.
  class Current {
   public:
    Current();
    ~Current();
    Current(const Current&) = delete;
    Current& operator=(const Current&) = delete;

   private:
    friend class Budget;
    std::vector<mem::BudgetAccount*> accounts_;
  };

  /// Charges this thread's allocations to budgets of another thread while it lives.
  class Enter {
   public:
    explicit Enter(const Budget& budget) : Enter({&budget.account_, 1}) {}
    explicit Enter(const Current& current) : Enter(std::span(current.accounts_)) {}
    ~Enter();
    Enter(const Enter&) = delete;
    Enter& operator=(const Enter&) = delete;

   private:
    explicit Enter(std::span<mem::BudgetAccount* const> accounts);
    void leave() noexcept;

    std::vector<mem::BudgetFrame*> frames_;
  };

 private:
  mem::BudgetFrame* frame_;
  mem::BudgetAccount* account_;  // the frame's
};

/// A limit on all that Tenure holds on a device in this process, whatever thread allocates; every
/// other budget of the device lies within it. What is live now counts, but for what other threads
/// are just allocating. No limit until this is called; kNoLimit lifts it. Throws ValueError for a
/// limit below 0 and for an absent device.
void set_process_budget(ByteLimit limit, Device device = default_device(),
                        Site site = Site::current());

}  // namespace tenure
