#pragma once

#include <chrono>
#include <cstdint>

namespace tenure::planner::remat {

/// What a search may still spend: moves, and time. With moves alone it is deterministic.
class Effort {
 public:
  Effort(double seconds, std::int64_t moves) : seconds_(seconds), moves_(moves) {}

  void spend(std::int64_t moves) { moves_ -= moves; }
  bool is_spent() const {
    const std::chrono::duration<double> elapsed = Clock::now() - start_;
    return moves_ <= 0 || elapsed.count() >= seconds_;
  }

 private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point start_ = Clock::now();
  double seconds_;
  std::int64_t moves_;
};

}  // namespace tenure::planner::remat
