#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace tenure::planner::ordering {

/// What may still be spent. A step is one look at one candidate; the clock is read now and then.
class Allowance {
 public:
  using Clock = std::chrono::steady_clock;

  Allowance(double seconds, std::int64_t steps)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(seconds, kForever)))),
        steps_(steps) {}

  void spend(std::int64_t steps) {
    steps_ -= steps;
    since_look_ += steps;
    if (since_look_ < kBetweenLooks) return;
    since_look_ = 0;
    late_ = late_ || Clock::now() >= end_;
  }
  bool over() const { return late_ || steps_ <= 0; }

 private:
  static constexpr double kForever = 1e8;  // three years; infinity is no duration
  static constexpr std::int64_t kBetweenLooks = 20'000;

  Clock::time_point end_;
  std::int64_t steps_;
  std::int64_t since_look_ = 0;
  bool late_ = false;
};

}  // namespace tenure::planner::ordering
