#include "tenure/profile/call_book.h"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "tenure/base/lasting.h"
#include "tenure/base/text.h"
#include "tenure/profile/recorded.h"
#include "tenure/profile/symbols.h"

namespace tenure::profile {

CallBook& CallBook::instance() {
  static constinit Lasting<CallBook> book;  // tensors may end until the process does
  return book.get([] { return new CallBook; });
}

void CallBook::begin() noexcept {
  const std::lock_guard lock(mutex_);
  users_.fetch_add(1, std::memory_order_relaxed);
  mem::install_callers(this);
}

void CallBook::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (users_.fetch_sub(1, std::memory_order_relaxed) > 1) return;
  mem::install_callers(nullptr);
  tensors_.clear();
  numbers_.clear();
  ended_ += static_cast<std::uint32_t>(addresses_.size());
  addresses_.clear();
  names_.clear();
}

std::uint32_t CallBook::number_of(const CallStack& calls) {
  constexpr std::size_t kMostSets = 65535;
  const auto known = numbers_.find(calls.hash());
  if (known != numbers_.end()) return known->second;
  if (addresses_.size() == kMostSets || calls.addresses().empty()) return 0;
  addresses_.emplace_back(calls.addresses().begin(), calls.addresses().end());
  const auto number = ended_ + static_cast<std::uint32_t>(addresses_.size());
  numbers_.emplace(calls.hash(), number);
  return number;
}

void CallBook::created(std::uint64_t tensor, const CallStack& calls) noexcept try {
  const std::lock_guard lock(mutex_);
  if (!is_on()) return;
  tensors_.insert_or_assign(tensor, OfTensor{.created = number_of(calls)});
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): its calls are not known
}

void CallBook::disposed(std::uint64_t tensor, const CallStack& calls) noexcept try {
  const std::lock_guard lock(mutex_);
  // One that is not there is older than the book, or its last handle went meanwhile.
  const auto found = tensors_.find(tensor);
  if (found != tensors_.end()) found->second.disposed = number_of(calls);
} catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): as above
}

void CallBook::destroyed(std::uint64_t tensor) noexcept {
  const std::lock_guard lock(mutex_);
  tensors_.erase(tensor);
}

mem::Callers::OfTensor CallBook::of(std::uint64_t tensor) const noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = tensors_.find(tensor);
  return found == tensors_.end() ? OfTensor{} : found->second;
}

std::uint32_t CallBook::here() noexcept try {
  const CallStack calls = CallStack::capture();
  const std::lock_guard lock(mutex_);
  return is_on() ? number_of(calls) : 0;
} catch (const std::bad_alloc&) {
  return 0;
}

std::vector<std::string> CallBook::names(std::uint32_t calls) {
  std::vector<std::uintptr_t> addresses;
  {
    const std::lock_guard lock(mutex_);
    if (!is_known(calls)) return {};
    if (const auto known = names_.find(calls); known != names_.end()) return known->second;
    addresses = addresses_[calls - ended_ - 1];
  }
  // Not under the lock: it may take a second.
  const Located located = locate(addresses);
  const NamedCalls named = name_calls(located.modules, std::span(&located.addresses, 1));
  std::vector<std::string> names;
  for (const std::uint32_t frame : named.stacks.front()) {
    if (named.frames[frame].has_name) names.push_back(plain(to_string(named.frames[frame])));
  }
  std::reverse(names.begin(), names.end());
  if (names.empty()) {
    names.push_back(fmt::format("{} without names; these take addr2line, and a program with -g",
                                addresses.size()));
  }
  const std::lock_guard lock(mutex_);
  if (is_known(calls)) names_.emplace(calls, names);
  return names;
}

}  // namespace tenure::profile
