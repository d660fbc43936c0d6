#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "tenure/memory/callers.h"
#include "tenure/profile/call_stack.h"

namespace tenure::profile {

/// The calls that led to each tensor there is, kept in memory while call stacks are on, whether or
/// not they are recorded too. There is one, for good. A tensor takes some 50 bytes more, and each
/// set of calls that differs from all before 8 bytes a call, of 65,535 sets at most.
class CallBook final : public mem::Callers {
 public:
  static CallBook& instance();

  /// From here on it is told of tensors, until as many end() as begin(); then it forgets them.
  void begin() noexcept;
  void end() noexcept;
  bool is_on() const noexcept { return users_.load(std::memory_order_relaxed) > 0; }

  void created(std::uint64_t tensor, const CallStack& calls) noexcept;
  void disposed(std::uint64_t tensor, const CallStack& calls) noexcept;
  void destroyed(std::uint64_t tensor) noexcept;

  OfTensor of(std::uint64_t tensor) const noexcept override;
  std::uint32_t here() noexcept override;
  std::vector<std::string> names(std::uint32_t calls) override;

  /// Around a fork: a child does not find it half changed.
  void lock() noexcept { mutex_.lock(); }
  void unlock() noexcept { mutex_.unlock(); }

 private:
  CallBook() = default;
  /// The caller has the lock.
  std::uint32_t number_of(const CallStack& calls);
  bool is_known(std::uint32_t calls) const noexcept {
    return calls > ended_ && calls - ended_ <= addresses_.size();
  }

  mutable std::mutex mutex_;
  std::atomic<int> users_{0};
  std::unordered_map<std::uint64_t, OfTensor> tensors_;
  std::map<std::uint64_t, std::uint32_t> numbers_;           // by hash
  std::uint32_t ended_ = 0;                                  // the last number it has forgotten
  std::vector<std::vector<std::uintptr_t>> addresses_;       // by number, the next one's first
  std::map<std::uint32_t, std::vector<std::string>> names_;  // of those that were asked for
};

}  // namespace tenure::profile
