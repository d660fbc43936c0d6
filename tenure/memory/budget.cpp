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

const BudgetAccount* BudgetAccount::charge(std::size_t bytes) noexcept {
  const std::size_t limit = this->limit();
  std::int64_t used = used_.load(std::memory_order_relaxed);
  std::int64_t after = 0;
  do {
    if (bytes > limit || unsigned_of(used) > limit - bytes) return this;
    after = used + static_cast<std::int64_t>(bytes);
  } while (!used_.compare_exchange_weak(used, after, std::memory_order_relaxed));
  if (parent_ != nullptr) {
    if (const BudgetAccount* const refusing = parent_->charge(bytes)) {
      uncharge(bytes);
      return refusing;
    }
  }
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (unsigned_of(after) > peak &&
         !peak_.compare_exchange_weak(peak, unsigned_of(after), std::memory_order_relaxed)) {
  }
  return nullptr;
}

BudgetAccount* BudgetAccount::charge_current(ThreadContext& context, std::size_t bytes) {
  BudgetAccount* const process = process_account.load(std::memory_order_acquire);
  const BudgetAccount* refusing = process == nullptr ? nullptr : process->charge(bytes);
  if (refusing == nullptr && context.budget != nullptr) {
    refusing = context.budget->charge(bytes);
    if (refusing == nullptr) {
      context.budget->retain();
    } else if (process != nullptr) {
      process->uncharge(bytes);
    }
  }
  if (refusing != nullptr) throw_out_of_memory(OutOfMemory::Cause::budget, bytes, refusing);
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
  account->start_with(mem::counts().bytes);
  mem::process_account.store(account, std::memory_order_release);
  mem::process_attention.fetch_or(mem::kAttendProcessBudget, std::memory_order_relaxed);
}

}  // namespace tenure
