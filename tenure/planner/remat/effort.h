#pragma once

#include <algorithm>
#include <cstdint>

#include "tenure/planner/clock.h"

namespace tenure::planner::remat {

/// What a search may still spend: moves, and time. With moves alone it is deterministic.
class Effort {
 public:
  Effort(double seconds, std::int64_t moves) : seconds_(seconds), moves_(moves), left_(moves) {}

  void spend(std::int64_t moves) { left_ -= moves; }
  bool is_spent() const { return left_ <= 0 || elapsed() >= seconds_; }
  double seconds_left() const { return std::max(0.0, seconds_ - elapsed()); }
  /// How much of it is gone, from 0 to 1.
  double share() const {
    const double done = 1 - static_cast<double>(left_) / static_cast<double>(moves_);
    return std::min(1.0, std::max(done, elapsed() / seconds_));
  }

 private:
  double elapsed() const { return seconds_now() - start_; }

  double start_ = seconds_now();
  double seconds_;
  std::int64_t moves_;
  std::int64_t left_;
};

}  // namespace tenure::planner::remat
