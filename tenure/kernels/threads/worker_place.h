#pragma once

#include <array>
#include <atomic>

namespace tenure::kernels {

/// On which cores a worker may run: all of the process's, or all but one that is left to its
/// caller. The worker's own thread uses it, and that of its caller.
class WorkerPlace {
 public:
  /// Of this thread. The cores are those of the process, not of the thread whose loop came first.
  void begin() noexcept;

  /// Leaves this core to others until go_back() or until it leaves another one. False if it cannot.
  bool leave(int cpu) noexcept;
  void go_back() noexcept;
  /// Goes on to leave a core to its caller, which is on another one now.
  void follow(int caller_cpu) noexcept {
    const int left = left_.load(std::memory_order_relaxed);
    if (left != kNone && left != caller_cpu) leave(caller_cpu);
  }

  /// Whether it has left a core, and lost the one that it is on since it was asked last.
  bool was_pushed_aside() noexcept {
    return left_.load(std::memory_order_relaxed) != kNone && has_lost_its_core();
  }

 private:
  static constexpr int kNone = -1;

  bool has_lost_its_core() noexcept;

  /// A bit for each, as in a cpu_set_t.
  std::array<unsigned long, 1024 / 8 / sizeof(unsigned long)> cpus_{};
  std::atomic<int> thread_{0};  ///< its number in the system; 0: it cannot be moved
  std::atomic<int> left_{kNone};
  long switches_ = 0;  ///< how often the system took a core away from it
};

}  // namespace tenure::kernels
