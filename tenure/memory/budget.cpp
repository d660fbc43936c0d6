#include "tenure/memory/budget.h"

#include <mutex>
#include <utility>

#include "tenure/memory/ledger.h"
#include "tenure/memory/out_of_memory.h"

namespace tenure::mem {
namespace {

/// The account above all others, once a process budget was set; it stays from then on.
std::atomic<BudgetAccount*> process_account{nullptr};

void enter(ThreadContext& context, BudgetAccount* account) {
  context.budget = account;
  if (account != nullptr) {
    context.attention |= kAttendBudget;
  } else {
    context.attention &= ~kAttendBudget;
  }
}

}  // namespace

BudgetAccount::BudgetAccount(std::string name, std::size_t limit, BudgetAccount* parent)
    : name_(std::move(name)), limit_(limit), parent_(parent) {
  if (parent_ != nullptr) parent_->retain();
}

void BudgetAccount::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  BudgetAccount* const parent = parent_;
  delete this;
  if (parent != nullptr) parent->release();
}

bool BudgetAccount::charge(std::size_t bytes) noexcept {
  const std::size_t limit = this->limit();
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit || used > limit - bytes) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (used + bytes > peak &&
         !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

BudgetAccount* BudgetAccount::charge_current(ThreadContext& context, std::size_t bytes) {
  BudgetAccount* const process = process_account.load(std::memory_order_acquire);
  if (process != nullptr && !process->charge(bytes)) {
    throw_out_of_memory(OutOfMemory::Cause::budget, bytes, process);
  }
  for (BudgetAccount* account = context.budget; account != nullptr; account = account->parent_) {
    if (account->charge(bytes)) continue;
    for (BudgetAccount* undo = context.budget; undo != account; undo = undo->parent_) {
      undo->uncharge(bytes);
    }
    if (process != nullptr) process->uncharge(bytes);
    throw_out_of_memory(OutOfMemory::Cause::budget, bytes, account);
  }
  if (context.budget != nullptr) context.budget->retain();
  return context.budget;
}

void BudgetAccount::refund_freed(BudgetAccount* account, std::size_t bytes) noexcept {
  BudgetAccount* const process = process_account.load(std::memory_order_acquire);
  if (process != nullptr) process->uncharge(bytes);
  if (account == nullptr) return;
  for (BudgetAccount* a = account; a != nullptr; a = a->parent_) a->uncharge(bytes);
  account->release();
}

}  // namespace tenure::mem

namespace tenure {

Budget::Budget(std::string name, std::size_t limit) {
  mem::ThreadContext& context = mem::this_thread();
  account_ = new mem::BudgetAccount(std::move(name), limit, context.budget);
  outer_ = context.budget;
  mem::enter(context, account_);
}

Budget::~Budget() {
  mem::enter(mem::this_thread(), outer_);
  account_->release();
}

Budget::Enter::Enter(const Budget& budget) : account_(budget.account_) {
  mem::ThreadContext& context = mem::this_thread();
  account_->retain();
  outer_ = context.budget;
  mem::enter(context, account_);
}

Budget::Enter::~Enter() {
  mem::enter(mem::this_thread(), outer_);
  account_->release();
}

void set_process_budget(std::size_t limit) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (mem::BudgetAccount* account = mem::process_account.load(std::memory_order_acquire)) {
    account->set_limit(limit);
    return;
  }
  if (limit == kNoLimit) return;
  auto* const account = new mem::BudgetAccount("process", limit, nullptr);
  account->start_with(static_cast<std::size_t>(mem::counts().bytes));
  mem::process_account.store(account, std::memory_order_release);
  mem::process_attention.fetch_or(mem::kAttendProcessBudget, std::memory_order_relaxed);
}

}  // namespace tenure
