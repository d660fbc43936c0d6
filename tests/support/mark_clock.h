#pragma once

#include <chrono>
#include <deque>
#include <mutex>

#include "tenure/ops/core/backend.h"
#include "tests/support/late_queue.h"

namespace tenure::test {

/// Marks in a LateQueue. Its clock has a zero and a speed of its own.
class MarkClock final : public ops::QueueClock {
 public:
  explicit MarkClock(LateQueue& queue) : queue_(queue) {}

  bool mark(std::uint64_t number) noexcept override {
    queue_.enqueue([this, number] {
      const auto now = std::chrono::steady_clock::now().time_since_epoch();
      const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
      const std::lock_guard lock(mutex_);
      passed_.push_back({.number = number, .ns = ns + ns / 1000});
    });
    return true;
  }
  std::optional<Passed> next(bool waits) noexcept override {
    if (waits) queue_.wait();
    const std::lock_guard lock(mutex_);
    if (passed_.empty()) return std::nullopt;
    const Passed passed = passed_.front();
    passed_.pop_front();
    return passed;
  }

 private:
  LateQueue& queue_;
  std::mutex mutex_;
  std::deque<Passed> passed_;
};

}  // namespace tenure::test
