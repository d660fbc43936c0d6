#pragma once

#include <chrono>
#include <cstdint>

namespace tenure::profile {

/// Nanoseconds since it was started, the same on all threads. Where the system itself trusts the
/// processor's counter of cycles, that is read directly: the system's clock takes twice as long,
/// and is a third of what an event costs.
class Clock {
 public:
  /// Takes two milliseconds where the counter's speed is to be found out.
  void start() noexcept;

  std::int64_t now() const noexcept {
#if defined(__x86_64__)
    if (cycle_ != 0) [[likely]] {
      const auto cycles = static_cast<std::int64_t>(__builtin_ia32_rdtsc() - first_cycle_);
      return static_cast<std::int64_t>(static_cast<double>(cycles) * cycle_);
    }
#endif
    return since_start().count();
  }

 private:
  std::chrono::nanoseconds since_start() const noexcept {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                                start_);
  }

  std::chrono::steady_clock::time_point start_{};
  std::uint64_t first_cycle_ = 0;
  double cycle_ = 0;  // in nanoseconds; 0: the system's clock is used
};

}  // namespace tenure::profile
