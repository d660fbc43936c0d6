#include <fmt/format.h>

#include <algorithm>

#include "tenure/planner/remat.h"

// Everything here asks the list of steps again and again instead of keeping books, so that there is
// nothing to get wrong.

namespace tenure::planner {
namespace {

bool reads(const Dag& dag, int reader, int node) {
  const std::vector<int>& inputs = dag.nodes[static_cast<std::size_t>(reader)].inputs;
  return std::find(inputs.begin(), inputs.end(), node) != inputs.end();
}

/// Whether the result that `node` has after step `i` is read later or wanted in the end.
bool is_wanted_after(const Dag& dag, const std::vector<int>& steps, std::size_t i, int node) {
  for (std::size_t k = i + 1; k < steps.size(); ++k) {
    if (reads(dag, steps[k], node)) return true;
    if (steps[k] == node) return false;
  }
  return dag.nodes[static_cast<std::size_t>(node)].output;
}

bool is_made_before(const std::vector<int>& steps, std::size_t i, int node) {
  return std::find(steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i), node) !=
         steps.begin() + static_cast<std::ptrdiff_t>(i);
}

std::int64_t memory_of_step(const Dag& dag, const std::vector<int>& steps, std::size_t i) {
  const Node& running = dag.nodes[static_cast<std::size_t>(steps[i])];
  std::int64_t memory = dag.resident + running.workspace;
  for (int node = 0; node < static_cast<int>(dag.nodes.size()); ++node) {
    if (node == steps[i] || !is_made_before(steps, i, node)) continue;
    if (reads(dag, steps[i], node) || is_wanted_after(dag, steps, i, node))
      memory += dag.nodes[static_cast<std::size_t>(node)].bytes;
  }
  for (std::size_t k = 0; k < running.inputs.size() && k < 32; ++k) {
    const int input = running.inputs[k];
    if ((running.overwrites >> k & 1) != 0 && !is_wanted_after(dag, steps, i, input) &&
        dag.nodes[static_cast<std::size_t>(input)].bytes >= running.bytes)
      return memory;
  }
  return memory + running.bytes;
}

}  // namespace

std::optional<std::string> validate(const Dag& dag, const RematPlan& plan, std::int64_t budget) {
  const int nodes = static_cast<int>(dag.nodes.size());
  std::vector<int> times(dag.nodes.size(), 0);
  std::int64_t added_cost = 0;
  std::int64_t peak = dag.resident;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const int node = plan.steps[i];
    if (node < 0 || node >= nodes)
      return fmt::format("step {} computes {}, which is no node", i, node);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const int node = plan.steps[i];
    const Node& running = dag.nodes[static_cast<std::size_t>(node)];
    for (int input : running.inputs)
      if (!is_made_before(plan.steps, i, input))
        return fmt::format("step {} computes node {} before its input {}", i, node, input);
    if (times[static_cast<std::size_t>(node)]++ > 0) {
      if (!running.pure)
        return fmt::format("step {} computes node {} again, which is not pure", i, node);
      added_cost += running.cost;
    }
    peak = std::max(peak, memory_of_step(dag, plan.steps, i));
  }
  for (int node = 0; node < nodes; ++node)
    if (times[static_cast<std::size_t>(node)] == 0)
      return fmt::format("node {} is never computed", node);
  if (peak != plan.peak) return fmt::format("the peak is {}, not {}", peak, plan.peak);
  if (added_cost != plan.added_cost)
    return fmt::format("the added cost is {}, not {}", added_cost, plan.added_cost);
  if (peak > budget) return fmt::format("the peak {} is above the budget {}", peak, budget);
  return std::nullopt;
}

}  // namespace tenure::planner
