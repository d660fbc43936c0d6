#pragma once

#include <chrono>

#include "tenure/kernels/threads/thread_choice.h"
#include "tenure/ops/core/record.h"

namespace tenure::kernels {

/// While it lives, this thread computes a call of a kernel, of which all loops have as many threads
/// as such calls were fastest with (thread_choice.h): what one loop leaves in the caches of several
/// cores the next one reads. It must end on its thread, the innermost first.
class CallThreads {
 public:
  explicit CallThreads(const ops::Kernel& kernel) noexcept : kernel_(kernel), outer_(now_) {
    now_ = this;
  }
  ~CallThreads() {
    if (turn_.is_timed) tell();
    now_ = outer_;
  }
  CallThreads(const CallThreads&) = delete;
  CallThreads& operator=(const CallThreads&) = delete;

  /// Of the call that this thread computes; nullptr: none.
  static CallThreads* now() noexcept { return now_; }
  /// How many of its loops have, at most.
  int threads() noexcept {
    if (choice_ == nullptr) choose();
    return threads_;
  }

 private:
  void choose() noexcept;
  void tell() noexcept;

  static thread_local constinit CallThreads* now_;

  const ops::Kernel& kernel_;
  CallThreads* outer_;
  ThreadChoice* choice_ = nullptr;  ///< nullptr: no loop has asked
  ThreadChoice::Turn turn_;
  int most_ = 1;
  int threads_ = 1;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace tenure::kernels
