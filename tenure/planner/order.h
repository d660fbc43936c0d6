#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tenure/planner/dag.h"

namespace tenure::planner {

// While a node runs, these are live: the results that it or a later node reads or that are outputs,
// its own result and its workspace. A node that overwrites an input, being its last reader, needs
// no memory for its result; what the input had more is free again afterwards. The peak is the most
// that is live at a time: what an arena needs at least, and more where buffers leave holes.

struct OrderOptions {
  double deadline = std::numeric_limits<double>::infinity();  ///< in seconds from the call
  /// Stop after this much work; a second has some ten millions. Without a deadline the plan depends
  /// on this, the seed and the problem alone.
  std::int64_t steps = 20'000'000;
  std::uint64_t seed = 0;
  /// An order that the plan must not be worse than. Without one it is that of the nodes' indices,
  /// where that is topological.
  std::vector<int> given{};
};

struct OrderPlan {
  std::vector<int> order;        ///< each node once, after its inputs
  std::int64_t peak = 0;         ///< most bytes live at a time, with the resident ones
  std::int64_t lower_bound = 0;  ///< no order has a lower peak

  /// The peak is proven to be the least.
  bool optimal() const { return peak == lower_bound; }
};

/// A topological order of low peak: never above the given order, breadth-first, depth-first,
/// post-order, list scheduling and least-peak-memory-first; proven to be least where its search
/// comes to an end. Throws ValueError for what check() refuses and for a given order that is none.
/// In ordering/solve.cpp.
OrderPlan order(const Dag& dag, const OrderOptions& options = {});

// In ordering/validate.cpp.

/// The peak of an order, computed from the lifetimes of the results. Throws ValueError if a node is
/// missing, comes twice or comes before one of its inputs.
std::int64_t order_peak(const Dag& dag, const std::vector<int>& order);

/// The first thing that is wrong with a plan, or nothing. It shares no code with the solver.
std::optional<std::string> validate(const Dag& dag, const OrderPlan& plan);

}  // namespace tenure::planner
