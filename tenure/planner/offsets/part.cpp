#include "tenure/planner/offsets/part.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tenure/planner/offsets/greedy.h"
#include "tenure/planner/offsets/random.h"
#include "tenure/planner/offsets/search.h"
#include "tenure/planner/offsets/valleys.h"

namespace tenure::planner::packing {
namespace {

// Beyond these, n^2 steps or n^2 bits are too many.
constexpr std::size_t kMostToFit = 4'096;
constexpr std::size_t kMostToSearch = 2'048;

constexpr std::int64_t kFirstRun = 500;         // steps
constexpr std::int64_t kFirstAttempt = 32'000;  // steps
constexpr std::int64_t kPairsPerStep = 1'024;
constexpr int kPassesPerTrial = 16;
constexpr double kMostNoise = 0.2;

bool has_fixed(const Instance& instance) {
  return std::any_of(instance.blocks.begin(), instance.blocks.end(),
                     [](const Block& block) { return block.fixed != kAnywhere; });
}

void offer(const Instance& instance, const std::vector<Units>& offsets, Packing& packing) {
  if (offsets.empty()) return;
  const Units height = height_of(instance, offsets);
  if (height >= packing.height) return;
  packing.height = height;
  packing.offsets = offsets;
}

/// 1, 1, 2, 1, 1, 2, 4, ...: restarts that waste little whatever the right length is.
std::int64_t luby(std::int64_t index) {
  for (;;) {
    std::int64_t power = 1;
    while (2 * power - 1 < index) power *= 2;
    if (2 * power - 1 == index) return power;
    index -= power - 1;
  }
}

/// Looks for packings below given capacities.
class Attempts {
 public:
  Attempts(const Instance& instance, std::uint64_t seed, Budget& budget)
      : instance_(instance),
        search_(instance),
        seed_(seed == 0 ? 0 : mix(seed) << 32),
        budget_(budget) {}

  /// Takes about `steps` steps. Lowers the packing or raises its bound if it can.
  bool attempt(Units capacity, std::int64_t steps, Packing& packing) {
    search_.set_capacity(capacity);
    const std::int64_t end = search_.steps() + std::min(steps, budget_.steps_left());
    for (std::int64_t run = 1; search_.steps() < end && !budget_.spent(); ++run) {
      const std::int64_t before = search_.steps();
      const auto outcome = search_.run(std::min(luby(run) * kFirstRun, end - before),
                                       seed_ + preference_++, budget_.expired());
      budget_.take(search_.steps() - before);
      if (outcome == Search::Outcome::found) {
        offer(instance_, search_.offsets(), packing);
        return true;
      }
      if (outcome == Search::Outcome::impossible) {
        packing.bound = std::max(packing.bound, capacity + 1);
        return false;
      }
    }
    return false;
  }

 private:
  const Instance& instance_;
  Search search_;
  std::uint64_t seed_;
  std::uint64_t preference_ = 0;
  Budget& budget_;
};

/// Noisy passes over the skyline, of some steps in all.
class Passes {
 public:
  Passes(const Instance& instance, std::uint64_t seed) : valleys_(instance), random_(seed) {}

  void run(const Instance& instance, Units goal, std::int64_t steps, Budget& budget,
           Packing& packing) {
    const auto cost = static_cast<std::int64_t>(instance.blocks.size());
    for (; steps > 0 && packing.height > std::max(goal, packing.bound) && !budget.spent();
         steps -= cost) {
      if (pass_++ % kPassesPerTrial == 0) valleys_.forget();
      // Mostly a little.
      const double noise = random_.uniform() * random_.uniform() * kMostNoise;
      offer(instance, valleys_.pass(noise, random_), packing);
      budget.take(cost);
    }
  }

 private:
  Valleys valleys_;
  Random random_;
  int pass_ = 0;
};

void improve_by_search(const Instance& instance, Units goal, std::uint64_t seed, Budget& budget,
                       Packing& packing) {
  Attempts attempts(instance, seed, budget);
  Passes passes(instance, seed);
  const auto done = [&] { return packing.height <= std::max(goal, packing.bound); };
  // Tight capacities leave fewer choices and often fall first. Where they do not, passes and then
  // bisection bring the height down, with about the same effort; then all of it with twice as much.
  // Where the search is so quick that it proves something, bisection alone will do.
  for (std::int64_t steps = kFirstAttempt; !done() && !budget.spent(); steps *= 2) {
    const Units low = packing.bound;
    const Units good = std::max(goal, low);
    attempts.attempt(good, 2 * steps, packing);
    for (const Units capacity : {low, low + (good - low) / 2}) {
      if (!done() && packing.bound <= capacity && capacity < good)
        attempts.attempt(capacity, steps, packing);
    }
    if (packing.bound <= good) passes.run(instance, goal, 2 * steps, budget, packing);
    for (Units failed = good; failed < packing.height - 1 && !done() && !budget.spent();) {
      const Units capacity = failed + (packing.height - failed) / 2;
      if (!attempts.attempt(capacity, steps / 4, packing)) failed = capacity;
    }
  }
}

/// Passes leave what is below a fixed block empty.
void improve_by_fit(const Instance& instance, Units goal, Budget& budget, Packing& packing) {
  const auto blocks = static_cast<std::int64_t>(instance.blocks.size());
  const std::int64_t steps = blocks * blocks / kPairsPerStep;
  for (const Order order : kOrders) {
    if (packing.height <= std::max(goal, packing.bound) || budget.steps_left() < steps) return;
    offer(instance, fit(instance, ordered(instance, order), false, budget.expired()), packing);
    budget.take(steps);
  }
}

}  // namespace

Budget::Budget(double seconds, std::int64_t steps) : steps_left_(steps) {
  if (std::isinf(seconds)) {
    expired_ = [] { return false; };
    return;
  }
  using Clock = std::chrono::steady_clock;
  const std::chrono::duration<double> limit(seconds);
  expired_ = [start = Clock::now(), limit] { return Clock::now() - start >= limit; };
}

Packing place_greedily(const Instance& instance, Units goal, const Budget& budget) {
  Packing packing;
  packing.bound = instance.bound;
  if (instance.blocks.size() == 1) {
    offer(instance, {instance.blocks[0].offset_from(0)}, packing);
    return packing;
  }
  Random random(0);
  offer(instance, Valleys(instance).pass(0, random), packing);
  if (instance.blocks.size() > kMostToFit) return packing;
  for (const bool best : {false, true}) {
    for (const Order order : kOrders) {
      if (packing.height <= goal || budget.expired()()) return packing;
      offer(instance, fit(instance, ordered(instance, order), best, budget.expired()), packing);
    }
  }
  return packing;
}

void improve(const Instance& instance, Units goal, std::uint64_t seed, Budget& budget,
             Packing& packing) {
  if (packing.height <= std::max(goal, packing.bound) || budget.spent()) return;
  if (instance.blocks.size() <= kMostToSearch) {
    improve_by_search(instance, goal, seed, budget, packing);
  } else {
    if (has_fixed(instance)) improve_by_fit(instance, goal, budget, packing);
    Passes(instance, seed).run(instance, goal, budget.steps_left(), budget, packing);
  }
}

}  // namespace tenure::planner::packing
