#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "tenure/planner/offsets/instance.h"

namespace tenure::planner::offsets {

/// What is left of the caller's steps and time.
class Budget {
 public:
  Budget(double seconds, std::int64_t steps);
  /// A part of another one that may also be stopped.
  Budget(std::int64_t steps, std::function<bool()> expired)
      : steps_left_(steps), expired_(std::move(expired)) {}

  std::int64_t steps_left() const { return steps_left_; }
  void take(std::int64_t steps) { steps_left_ -= steps; }
  /// No more may be taken.
  bool spent() const { return steps_left_ <= 0 || expired_(); }
  /// The deadline has passed; never without one, so that no clock decides then.
  const std::function<bool()>& expired() const { return expired_; }

 private:
  std::int64_t steps_left_;
  std::function<bool()> expired_;
};

/// The best offsets so far, and what is known about better ones.
struct Packing {
  std::vector<Units> offsets;
  Units height = kUnreachable;
  Units bound = 0;  ///< nothing lower exists
};

/// The best of some quick ways to place the blocks, or the first one not above `goal`.
Packing place_greedily(const Instance& instance, Units goal, const Budget& budget);

/// Lowers `packing` until it is not above `goal`, is proven to be the best, or nothing is left of
/// the budget. The result does not depend on the number of threads, which is at least 1.
void improve(const Instance& instance, Units goal, std::uint64_t seed, int threads, Budget& budget,
             Packing& packing);

}  // namespace tenure::planner::offsets
