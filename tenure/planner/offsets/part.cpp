#include "tenure/planner/offsets/part.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <numeric>
#include <system_error>
#include <thread>
#include <utility>

#include "tenure/planner/clock.h"
#include "tenure/planner/offsets/greedy.h"
#include "tenure/planner/offsets/random.h"
#include "tenure/planner/offsets/search.h"
#include "tenure/planner/offsets/valleys.h"

namespace tenure::planner::offsets {
namespace {

// Beyond these, n^2 steps that nobody counts or n^2 bits are too many.
constexpr std::size_t kMostToFit = 4'096;
constexpr std::size_t kMostToSearch = 2'048;

constexpr std::int64_t kFirstRun = 500;         // steps
constexpr std::int64_t kFirstAttempt = 32'000;  // steps
constexpr std::int64_t kPairsPerStep = 4'096;
constexpr int kLanes = 4;
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

/// One search of several that differ in their seeds alone.
class Lane {
 public:
  Lane(const Instance& instance, std::uint64_t seed)
      : instance_(instance),
        budget_(0, [] { return false; }),
        attempts_(instance, seed, budget_),
        passes_(instance, seed) {}

  /// Tight capacities leave fewer choices and often fall first. Where they do not, passes and then
  /// bisection bring the height down, with about the same effort. Where the search is so quick that
  /// it proves something, bisection alone will do.
  void round(Units goal, std::int64_t steps, const Budget& budget, Packing packing) {
    budget_ = budget;
    const std::int64_t before = budget_.steps_left();
    const auto done = [&] { return packing.height <= std::max(goal, packing.bound); };
    const Units low = packing.bound;
    const Units good = std::max(goal, low);
    attempts_.attempt(good, 2 * steps, packing);
    for (const Units capacity : {low, low + (good - low) / 2}) {
      if (!done() && packing.bound <= capacity && capacity < good)
        attempts_.attempt(capacity, steps, packing);
    }
    if (packing.bound <= good) passes_.run(instance_, goal, 2 * steps, budget_, packing);
    for (Units failed = good; failed < packing.height - 1 && !done() && !budget_.spent();) {
      const Units capacity = failed + (packing.height - failed) / 2;
      if (!attempts_.attempt(capacity, steps / 4, packing)) failed = capacity;
    }
    used_ = before - budget_.steps_left();
    result_ = std::move(packing);
  }

  const Packing& result() const { return result_; }
  std::int64_t used() const { return used_; }

 private:
  const Instance& instance_;
  Budget budget_;
  Attempts attempts_;
  Passes passes_;
  Packing result_;
  std::int64_t used_ = 0;
};

/// Calls work(0) to work(count - 1), on so many threads.
void run_on_threads(int count, int threads, const std::function<void(int)>& work) {
  std::atomic<int> next{0};
  const auto run = [&] {
    for (int i = next++; i < count; i = next++) work(i);
  };
  std::vector<std::thread> others;
  try {
    for (int i = 1; i < std::min(threads, count); ++i) others.emplace_back(run);
  } catch (const std::system_error&) {  // Then there are fewer.
  }
  run();
  for (std::thread& other : others) other.join();
}

// Note [Lanes]
//
// Whether a search finds the best packing is a matter of luck, so several that begin differently
// share the steps. They go round by round, each time with twice as many steps, and know after each
// round what the others have found. If one reaches the goal, those after it in the list are of no
// use any more: they are stopped where they are and do not count, wherever that is. Those before it
// end their round, since one of them may reach the goal too. So it is always the first in the list
// that does, on any number of threads. Easy problems are solved by the first before others begin.

void improve_by_search(const Instance& instance, Units goal, std::uint64_t seed, int threads,
                       Budget& budget, Packing& packing) {
  std::vector<std::unique_ptr<Lane>> lanes;
  const auto is_done = [&](const Packing& it) { return it.height <= std::max(goal, it.bound); };
  for (std::int64_t steps = kFirstAttempt; !is_done(packing) && !budget.spent(); steps *= 2) {
    const int count = lanes.empty() ? 1 : kLanes;
    while (static_cast<int>(lanes.size()) < count)
      lanes.push_back(std::make_unique<Lane>(instance, seed + lanes.size() * 1'000'003));
    std::atomic<int> winner{count};
    const std::int64_t share = std::max<std::int64_t>(1, budget.steps_left() / count);
    run_on_threads(count, threads, [&](int i) {
      const auto stopped = [&, i] { return winner < i || budget.expired()(); };
      if (stopped()) return;
      Lane& lane = *lanes[static_cast<std::size_t>(i)];
      lane.round(goal, steps, Budget(share, stopped), packing);
      if (!is_done(lane.result())) return;
      for (int first = winner; i < first && !winner.compare_exchange_weak(first, i);) {
      }
    });
    for (int i = 0; i < std::min(winner + 1, count); ++i) {
      const Lane& lane = *lanes[static_cast<std::size_t>(i)];
      budget.take(lane.used());
      if (lane.result().height < packing.height) {
        packing.height = lane.result().height;
        packing.offsets = lane.result().offsets;
      }
      packing.bound = std::max(packing.bound, lane.result().bound);
    }
  }
}

std::int64_t steps_of_fit(const Instance& instance) {
  const auto blocks = static_cast<std::int64_t>(instance.blocks.size());
  return blocks * blocks / kPairsPerStep + 1;
}

/// The textbook's ways for large problems, as far as there are steps for them. Lowest fit is there
/// for fixed blocks: passes leave what is below one empty.
void improve_by_fit(const Instance& instance, Units goal, bool best, Budget& budget,
                    Packing& packing) {
  const std::int64_t steps = steps_of_fit(instance);
  for (const Order order : {Order::size, Order::area, Order::length}) {
    if (packing.height <= std::max(goal, packing.bound) || budget.steps_left() < steps) return;
    offer(instance, fit(instance, ordered(instance, order), best, budget.expired()), packing);
    budget.take(steps);
  }
}

/// With gaps: first as if there were none, then by changing the order in which blocks are placed, a
/// little more than what was best so far.
void improve_with_gaps(const Instance& instance, Units goal, std::uint64_t seed, int threads,
                       Budget& budget, Packing& packing) {
  const Instance filled = without_gaps(instance);
  if (packing.height > filled.bound) {
    Packing other = packing;
    other.bound = filled.bound;
    Budget half(budget.steps_left() / 2, budget.expired());
    const std::int64_t before = half.steps_left();
    improve(filled, std::max(goal, filled.bound), seed, threads, half, other);
    budget.take(before - half.steps_left());
    offer(instance, other.offsets, packing);
  }
  constexpr std::int64_t kSlower = 4;  // holes take longer to find among gaps
  const std::int64_t steps =
      kSlower * steps_of_fit(instance) + static_cast<std::int64_t>(instance.blocks.size());
  Random random(seed);
  std::vector<int> order(instance.blocks.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return packing.offsets[static_cast<std::size_t>(a)] <
           packing.offsets[static_cast<std::size_t>(b)];
  });
  while (packing.height > std::max(goal, packing.bound) && budget.steps_left() >= steps &&
         !budget.spent()) {
    std::vector<int> changed = order;
    for (std::uint64_t moves = 1 + random.next() % 3; moves > 0; --moves) {
      const auto from = static_cast<std::ptrdiff_t>(random.next() % changed.size());
      const auto to = static_cast<std::ptrdiff_t>(random.next() % changed.size());
      const int block = changed[static_cast<std::size_t>(from)];
      changed.erase(changed.begin() + from);
      changed.insert(changed.begin() + to, block);
    }
    fixed_first(instance, changed);
    const std::vector<Units> offsets = fit(instance, changed, false, budget.expired());
    budget.take(steps);
    if (offsets.empty() || height_of(instance, offsets) > packing.height) continue;
    order = std::move(changed);
    offer(instance, offsets, packing);
  }
}

}  // namespace

Budget::Budget(double seconds, std::int64_t steps) : steps_left_(steps) {
  if (std::isinf(seconds)) {
    expired_ = [] { return false; };
    return;
  }
  expired_ = [end = seconds_now() + seconds] { return seconds_now() >= end; };
}

Packing place_greedily(const Instance& instance, Units goal, const Budget& budget) {
  Packing packing;
  packing.bound = instance.bound;
  if (instance.blocks.size() == 1) {
    offer(instance, {instance.blocks[0].offset_from(0)}, packing);
    return packing;
  }
  Random random(0);
  const bool has_gaps = !instance.shapes.empty();
  const Instance filled = has_gaps ? without_gaps(instance) : Instance{};
  offer(instance, Valleys(has_gaps ? filled : instance).pass(0, random), packing);
  if (instance.blocks.size() > kMostToFit) return packing;
  for (const bool best : {false, true}) {
    for (const Order order : kOrders) {
      if (packing.height <= goal || budget.expired()()) return packing;
      offer(instance, fit(instance, ordered(instance, order), best, budget.expired()), packing);
    }
  }
  return packing;
}

void improve(const Instance& instance, Units goal, std::uint64_t seed, int threads, Budget& budget,
             Packing& packing) {
  if (packing.height <= std::max(goal, packing.bound) || budget.spent()) return;
  if (!instance.shapes.empty()) {
    improve_with_gaps(instance, goal, seed, threads, budget, packing);
  } else if (instance.blocks.size() <= kMostToSearch) {
    improve_by_search(instance, goal, seed, threads, budget, packing);
  } else {
    if (instance.blocks.size() > kMostToFit) improve_by_fit(instance, goal, true, budget, packing);
    if (has_fixed(instance)) improve_by_fit(instance, goal, false, budget, packing);
    Passes(instance, seed).run(instance, goal, budget.steps_left(), budget, packing);
  }
}

}  // namespace tenure::planner::offsets
