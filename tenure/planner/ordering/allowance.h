#pragma once

#include <cstdint>

#include "tenure/planner/clock.h"

namespace tenure::planner::ordering {

/// What may still be spent. A step is one look at one candidate; the clock is read now and then.
class Allowance {
 public:
  Allowance(double seconds, std::int64_t steps) : end_(seconds_now() + seconds), steps_(steps) {}

  void spend(std::int64_t steps) {
    steps_ -= steps;
    since_look_ += steps;
    if (since_look_ < kBetweenLooks) return;
    since_look_ = 0;
    late_ = late_ || seconds_now() >= end_;
  }
  bool over() const { return late_ || steps_ <= 0; }

 private:
  static constexpr std::int64_t kBetweenLooks = 20'000;

  double end_;
  std::int64_t steps_;
  std::int64_t since_look_ = 0;
  bool late_ = false;
};

}  // namespace tenure::planner::ordering
