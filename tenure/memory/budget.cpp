#include "tenure/memory/budget.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>

#include "tenure/memory/holders/evictable.h"
#include "tenure/memory/holders/spare.h"
#include "tenure/memory/ledger.h"
#include "tenure/memory/observer.h"
#include "tenure/memory/out_of_memory.h"
#include "tenure/memory/pool/devices.h"
#include "tenure/memory/threads/call.h"
#include "tenure/memory/threads/fork.h"

namespace tenure::mem {
namespace {

constinit std::mutex setting_mutex;
constinit std::atomic<std::uint64_t> accounts_made{0};

/// The account of a device above all others, once a process budget was set; it stays from then on.
constinit std::array<std::atomic<BudgetAccount*>, kDevices> process_accounts{};

BudgetAccount* process_account(Device device) noexcept {
  return process_accounts[place_of(device)].load(std::memory_order_acquire);
}

void take_out(BudgetFrame& frame) noexcept {
  ThreadContext& context = frame.context;
  cut_frame(context.budget, frame);
  if (context.budget == nullptr) context.attention &= ~kAttendBudget;
}

/// The innermost account of a device in force, or nullptr.
BudgetAccount* innermost(ThreadContext& context, Device device) noexcept {
  take_out_ended(context.budget, take_out);
  const BudgetFrame* frame = context.budget;
  while (frame != nullptr && frame->account->device() != device) frame = frame->outer;
  return frame == nullptr ? nullptr : frame->account;
}

/// The innermost accounts of all devices.
std::vector<BudgetAccount*> innermost_of_each(ThreadContext& context) {
  take_out_ended(context.budget, take_out);
  std::vector<BudgetAccount*> accounts;
  for (const BudgetFrame* frame = context.budget; frame != nullptr; frame = frame->outer) {
    const auto is_of_device = [&](const BudgetAccount* account) {
      return account->device() == frame->account->device();
    };
    if (std::none_of(accounts.begin(), accounts.end(), is_of_device)) {
      accounts.push_back(frame->account);
    }
  }
  return accounts;
}

/// Takes over the caller's reference and opening, also if it throws.
BudgetFrame* enter(ThreadContext& context, BudgetAccount* account) {
  try {
    auto* const frame = new BudgetFrame(context, account);
    push_frame(context.budget, frame);
    context.attention |= kAttendBudget;
    return frame;
  } catch (...) {
    account->close();
    account->release();
    throw;
  }
}

void leave(BudgetFrame* frame) noexcept {
  frame->account->close();
  end_frame(frame, take_out);
}

}  // namespace

std::mutex& budget_mutex() noexcept { return setting_mutex; }

bool has_free_room(ThreadContext& context, Device device, std::size_t bytes) noexcept {
  const auto takes = [bytes](const BudgetAccount* account) {
    const std::size_t limit = account->limit();
    return bytes <= limit && account->used() <= limit - bytes;
  };
  const BudgetAccount* const process = process_account(device);
  if (process != nullptr && !takes(process)) return false;
  for (const BudgetAccount* account = innermost(context, device); account != nullptr;
       account = account->around()) {
    if (!takes(account)) return false;
  }
  return true;
}

void leave_budgets(ThreadContext& context) noexcept { take_out_all(context.budget, take_out); }

BudgetAccount::BudgetAccount(std::string name, std::size_t limit, Device device,
                             BudgetAccount* outer, bool evicts)
    : name_(std::move(name)),
      number_(accounts_made.fetch_add(1, std::memory_order_relaxed) + 1),
      device_(device),
      evicts_(evicts),
      limit_(limit) {
  if (outer == nullptr) return;
  around_.reserve(outer->around_.size() + 1);
  if (outer->is_open()) around_.push_back(outer);
  for (BudgetAccount* const account : outer->around_) {
    if (account->is_open()) around_.push_back(account);
  }
  for (BudgetAccount* const account : around_) {
    account->book_references_.fetch_add(1, std::memory_order_relaxed);
  }
}

void BudgetAccount::close() noexcept {
  if (openings_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  set_limit(kNoLimit);
  ThreadContext& context = this_thread();
  if (Observer* const o = observer(context)) o->budget_ended(context, *this);
  if (evicts_) stop_evicting();
}

bool BudgetAccount::is_of_process() const noexcept { return process_account(device_) == this; }

bool BudgetAccount::is_evicting() const noexcept {
  const auto evicts = [](const BudgetAccount* account) {
    return account->evicts_ && account->is_open();
  };
  return evicts(this) || std::any_of(around_.begin(), around_.end(), evicts);
}

void BudgetAccount::release() noexcept {
  if (references_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (BudgetAccount* const account : around_) account->release_books();
  release_books();
}

void BudgetAccount::release_books() noexcept {
  if (book_references_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete this;
}

const BudgetAccount* BudgetAccount::charge(std::size_t bytes, std::size_t depth) noexcept {
  if (depth > around_.size()) return nullptr;
  BudgetAccount& account = depth == 0 ? *this : *around_[depth - 1];
  const std::size_t limit = account.limit();
  std::int64_t used = account.used_.load(std::memory_order_relaxed);
  std::int64_t after = 0;
  do {
    if (bytes > limit || unsigned_of(used) > limit - bytes) return &account;
    after = used + static_cast<std::int64_t>(bytes);
  } while (!account.used_.compare_exchange_weak(used, after, std::memory_order_relaxed));
  if (const BudgetAccount* const refusing = charge(bytes, depth + 1)) {
    account.uncharge(bytes);
    return refusing;
  }
  std::size_t peak = account.peak();
  while (unsigned_of(after) > peak && !account.peak_.compare_exchange_weak(
                                          peak, unsigned_of(after), std::memory_order_relaxed)) {
  }
  return nullptr;
}

const BudgetAccount* BudgetAccount::charge_all(BudgetAccount* account, Device device,
                                               std::size_t bytes) noexcept {
  BudgetAccount* const process = process_account(device);
  if (process != nullptr) {
    if (const BudgetAccount* const refusing = process->charge(bytes)) return refusing;
  }
  if (account == nullptr) return nullptr;
  const BudgetAccount* const refusing = account->charge(bytes);
  if (refusing != nullptr && process != nullptr) process->uncharge(bytes);
  return refusing;
}

BudgetAccount* BudgetAccount::charge_current(ThreadContext& context, Device device,
                                             std::size_t bytes) {
  BudgetAccount* const account = innermost(context, device);
  while (const BudgetAccount* const refusing = charge_all(account, device, bytes)) {
    if (give_up_spare(refusing, device)) continue;
    if (account == nullptr || !account->is_evicting() || !make_room(context, *refusing, bytes)) {
      throw_out_of_memory(OutOfMemory::Cause::budget, bytes, refusing, device);
    }
  }
  if (account != nullptr) account->retain();
  return account;
}

void BudgetAccount::refund_freed(BudgetAccount* account, Device device,
                                 std::size_t bytes) noexcept {
  BudgetAccount* const process = process_account(device);
  if (process != nullptr) process->uncharge(bytes);
  if (account == nullptr) return;
  account->uncharge(bytes);
  for (BudgetAccount* const outer : account->around_) outer->uncharge(bytes);
}

ChargeTo::ChargeTo(BudgetAccount& account) : frame_(new BudgetFrame(this_thread(), &account)) {
  account.retain();
  push_frame(frame_->context.budget, frame_);
  frame_->context.attention |= kAttendBudget;
}

ChargeTo::~ChargeTo() { end_frame(frame_, take_out); }

bool BudgetAccount::counts_in(const BudgetAccount* charged, Device device,
                              const BudgetAccount& account) noexcept {
  if (&account == process_account(device)) return true;
  if (charged == nullptr || charged == &account) return charged != nullptr;
  return std::find(charged->around_.begin(), charged->around_.end(), &account) !=
         charged->around_.end();
}

}  // namespace tenure::mem

namespace tenure {

std::size_t ByteLimit::bytes(const char* op, Site site) const {
  return mem::in_call(op, site, [&] {
    if (!is_valid_) throw ValueError(std::string(op) + ": a limit is at least 0 bytes");
    return bytes_;
  });
}

Budget::Budget(std::string name, ByteLimit limit, Device device, Site site)
    : Budget(std::move(name), limit, Options(), device, site) {}

Budget::Budget(std::string name, ByteLimit limit, Options options, Device device, Site site) {
  const std::size_t bytes = limit.bytes("Budget", site);
  mem::require_device(device, "Budget", site);
  mem::ThreadContext& context = mem::this_thread();
  account_ = new mem::BudgetAccount(std::move(name), bytes, device, mem::innermost(context, device),
                                    options.evict);
  frame_ = mem::enter(context, account_);
  if (mem::Observer* const o = mem::observer(context)) {
    o->budget_began(context, *account_);
  }
}

Budget::~Budget() { mem::leave(frame_); }

Budget::Current::Current()
    : accounts_(mem::or_out_of_memory([] { return mem::innermost_of_each(mem::this_thread()); })) {
  for (mem::BudgetAccount* const account : accounts_) {
    account->open();
    account->retain();
  }
}

Budget::Current::~Current() {
  for (mem::BudgetAccount* const account : accounts_) {
    account->close();
    account->release();
  }
}

Budget::Enter::Enter(std::span<mem::BudgetAccount* const> accounts) {
  if (accounts.empty()) return;
  mem::or_out_of_memory([&] { frames_.reserve(accounts.size()); });
  mem::ThreadContext& context = mem::this_thread();
  mem::take_out_ended(context.budget, mem::take_out);
  try {
    for (mem::BudgetAccount* const account : accounts) {
      account->open();
      account->retain();
      frames_.push_back(mem::enter(context, account));
    }
  } catch (...) {
    leave();
    throw;
  }
}

Budget::Enter::~Enter() { leave(); }

void Budget::Enter::leave() noexcept {
  for (; !frames_.empty(); frames_.pop_back()) mem::leave(frames_.back());
}

void set_process_budget(ByteLimit limit, Device device, Site site) {
  const std::size_t bytes = limit.bytes("set_process_budget", site);
  mem::require_device(device, "set_process_budget", site);
  {
    const std::lock_guard lock(mem::budget_mutex());
    if (mem::BudgetAccount* const account = mem::process_account(device)) {
      account->set_limit(bytes);
    } else {
      if (bytes == kNoLimit) return;
      auto* const made = new mem::BudgetAccount("process", bytes, device, nullptr);
      made->start_with(mem::live_bytes(device));
      mem::process_accounts[mem::place_of(device)].store(made, std::memory_order_release);
      mem::process_attention.fetch_or(mem::kAttendProcessBudget, std::memory_order_relaxed);
    }
  }
  mem::ThreadContext& context = mem::this_thread();
  if (mem::Observer* const o = mem::observer(context)) {
    o->budget_began(context, *mem::process_account(device));
  }
}

}  // namespace tenure
