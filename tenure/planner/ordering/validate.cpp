#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/planner/order.h"

namespace tenure::planner {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// When each node runs.
std::vector<std::size_t> times_of(const Dag& dag, const std::vector<int>& order) {
  const std::size_t size = dag.nodes.size();
  if (order.size() != size) {
    throw ValueError(fmt::format("an order of {} nodes has {} entries", size, order.size()));
  }
  std::vector<std::size_t> time(size, size);
  for (std::size_t t = 0; t < size; ++t) {
    if (order[t] < 0 || at(order[t]) >= size) {
      throw ValueError(fmt::format("the order names node {}, and there are {}", order[t], size));
    }
    if (time[at(order[t])] != size) {
      throw ValueError(fmt::format("the order has node {} twice", order[t]));
    }
    time[at(order[t])] = t;
  }
  return time;
}

}  // namespace

std::int64_t order_peak(const Dag& dag, const std::vector<int>& order) {
  const std::vector<std::size_t> time = times_of(dag, order);
  const std::size_t end = order.size();

  std::vector<std::size_t> last_use = time;  // an output's is `end`
  for (std::size_t v = 0; v < end; ++v) {
    for (const int input : dag.nodes[v].inputs) {
      if (time[at(input)] >= time[v]) {
        throw ValueError(fmt::format("the order has node {} before its input {}", v, input));
      }
      last_use[at(input)] = std::max(last_use[at(input)], time[v]);
    }
  }
  for (std::size_t v = 0; v < end; ++v) {
    if (dag.nodes[v].output) last_use[v] = end;
  }

  std::vector<std::int64_t> change(end + 2, 0);
  for (std::size_t v = 0; v < end; ++v) {
    change[time[v]] += dag.nodes[v].bytes;
    change[last_use[v] + 1] -= dag.nodes[v].bytes;
  }
  std::int64_t live = dag.resident;
  std::int64_t peak = live;
  for (std::size_t t = 0; t < end; ++t) {
    live += change[t];
    const Node& node = dag.nodes[at(order[t])];
    bool in_place = false;
    for (std::size_t i = 0; i < std::min<std::size_t>(node.inputs.size(), 32); ++i) {
      const std::size_t input = at(node.inputs[i]);
      in_place = in_place || ((node.overwrites >> i & 1) != 0 && last_use[input] == t &&
                              dag.nodes[input].bytes >= node.bytes);
    }
    peak = std::max(peak, live + node.workspace - (in_place ? node.bytes : 0));
  }
  return peak;
}

std::optional<std::string> validate(const Dag& dag, const OrderPlan& plan) {
  std::int64_t peak = 0;
  try {
    peak = order_peak(dag, plan.order);
  } catch (const ValueError& error) {
    return error.what();
  }
  if (peak != plan.peak) {
    return fmt::format("the plan says a peak of {} bytes; its order has {}", plan.peak, peak);
  }
  if (plan.lower_bound > plan.peak) {
    return fmt::format("the plan has a peak of {} bytes, below its lower bound of {}", plan.peak,
                       plan.lower_bound);
  }
  return std::nullopt;
}

}  // namespace tenure::planner
