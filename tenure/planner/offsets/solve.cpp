#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <string>

#include "tenure/base/cpus.h"
#include "tenure/base/error.h"
#include "tenure/planner/offsets.h"
#include "tenure/planner/offsets/instance.h"
#include "tenure/planner/offsets/part.h"

namespace tenure::planner {
namespace {

using offsets::Budget;
using offsets::Instance;
using offsets::Packing;
using offsets::Prepared;
using offsets::Units;

void check(const OffsetOptions& options) {
  if (std::isnan(options.deadline)) throw ValueError("planner: the deadline is not a number");
  if (options.steps < 0) {
    throw ValueError("planner: " + std::to_string(options.steps) +
                     " steps; give 0 for quick placements alone");
  }
  if (options.threads < 0) {
    throw ValueError("planner: " + std::to_string(options.threads) +
                     " threads; give 0 for as many as there are CPUs");
  }
  if (options.capacity < 0) {
    throw ValueError("planner: the capacity is negative: " + std::to_string(options.capacity));
  }
}

/// As many as there were at first: to ask takes longer than some plans.
int cpus_of_process() {
  static constinit std::atomic<int> known{0};
  if (known.load(std::memory_order_relaxed) == 0) {
    known.store(available_cpus(), std::memory_order_relaxed);
  }
  return known.load(std::memory_order_relaxed);
}

/// Each part on its own. The highest one decides, so that the others need not be lower.
std::vector<Packing> solve_parts(const Prepared& prepared, const OffsetOptions& options,
                                 Budget& budget) {
  Units goal = options.capacity / prepared.unit;
  for (const Instance& part : prepared.parts) goal = std::max(goal, part.bound);
  std::vector<Packing> packings;
  packings.reserve(prepared.parts.size());
  for (const Instance& part : prepared.parts)
    packings.push_back(place_greedily(part, goal, budget));

  // The parts that promise least come first: what they need is granted to the others.
  std::vector<std::size_t> order(packings.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return packings[a].height > packings[b].height;
  });
  const int threads = options.threads > 0 ? options.threads : cpus_of_process();
  for (const std::size_t i : order) {
    improve(prepared.parts[i], goal, options.seed, threads, budget, packings[i]);
    goal = std::max(goal, packings[i].height);
  }
  return packings;
}

}  // namespace

BufferError::BufferError(std::size_t buffer, const std::string& problem)
    : ValueError("planner: buffer " + std::to_string(buffer) + " " + problem), buffer_(buffer) {}

void check(const OffsetProblem& problem) {
  offsets::check(problem);
  offsets::check_fixed(problem, offsets::prepare(problem));
}

OffsetPlan solve(const OffsetProblem& problem, const OffsetOptions& options) {
  check(options);
  offsets::check(problem);
  Prepared prepared = offsets::prepare(problem);
  offsets::check_fixed(problem, prepared);
  Budget budget(options.deadline, options.steps);
  const std::vector<Packing> packings = solve_parts(prepared, options, budget);

  OffsetPlan plan;
  plan.lower_bound = prepared.lower_bound;
  plan.witness = prepared.witness;
  plan.steps = options.steps - budget.steps_left();
  for (std::size_t p = 0; p < packings.size(); ++p) {
    const std::vector<int>& ids = prepared.parts[p].ids;
    for (std::size_t i = 0; i < ids.size(); ++i)
      prepared.offsets[static_cast<std::size_t>(ids[i])] = packings[p].offsets[i] * prepared.unit;
    const std::int64_t bound = packings[p].bound * prepared.unit - prepared.padding;
    if (bound > plan.lower_bound) {
      plan.lower_bound = bound;
      plan.witness.reset();
    }
  }
  plan.offsets.reserve(problem.buffers.size());
  for (std::size_t i = 0; i < problem.buffers.size(); ++i) {
    const Buffer& buffer = problem.buffers[i];
    const int block = prepared.block_of[i];
    plan.offsets.push_back(block >= 0 ? prepared.offsets[static_cast<std::size_t>(block)]
                                      : buffer.offset.value_or(0));
    if (buffer.lower < buffer.upper && buffer.size > 0)
      plan.height = std::max(plan.height, plan.offsets.back() + buffer.size);
  }
  return plan;
}

}  // namespace tenure::planner
