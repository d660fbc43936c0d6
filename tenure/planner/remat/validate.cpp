#include <fmt/format.h>

#include <algorithm>

#include "tenure/planner/remat.h"

// Each result is alive from its step to the last one that reads it; what is alive is added up step
// by step. The solvers count otherwise: from the end, and by differences.

namespace tenure::planner {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

/// For each step the last one at which its result is there: read, or, for the last result of an
/// output, after all steps. Every input must have been computed.
std::vector<std::size_t> last_uses(const Dag& dag, const std::vector<int>& steps) {
  std::vector<std::size_t> last(steps.size());
  std::vector<std::size_t> made(dag.nodes.size());  // the latest step of each node
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const int input : dag.nodes[at(steps[i])].inputs) last[made[at(input)]] = i;
    made[at(steps[i])] = last[i] = i;
  }
  for (std::size_t i = 0; i < steps.size(); ++i)
    if (dag.nodes[at(steps[i])].output && made[at(steps[i])] == i) last[i] = steps.size();
  return last;
}

/// Most that is live at a time.
std::int64_t peak_of(const Dag& dag, const std::vector<int>& steps) {
  const std::vector<std::size_t> last = last_uses(dag, steps);
  std::vector<std::int64_t> memory(steps.size(), dag.resident);
  std::vector<std::size_t> made(dag.nodes.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Node& running = dag.nodes[at(steps[i])];
    memory[i] += running.workspace;
    for (std::size_t k = i; k <= last[i] && k < steps.size(); ++k) memory[k] += running.bytes;
    bool in_place = false;
    for (std::size_t k = 0; k < running.inputs.size() && k < 32; ++k) {
      const int input = running.inputs[k];
      in_place = in_place || ((running.overwrites >> k & 1) != 0 && last[made[at(input)]] == i &&
                              dag.nodes[at(input)].bytes >= running.bytes);
    }
    if (in_place) memory[i] -= running.bytes;
    made[at(steps[i])] = i;
  }
  return steps.empty() ? dag.resident : *std::max_element(memory.begin(), memory.end());
}

}  // namespace

std::optional<std::string> validate(const Dag& dag, const RematPlan& plan, std::int64_t budget) {
  const int nodes = static_cast<int>(dag.nodes.size());
  std::vector<int> times(dag.nodes.size(), 0);
  std::int64_t added_cost = 0;
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const int node = plan.steps[i];
    if (node < 0 || node >= nodes)
      return fmt::format("step {} computes {}, which is no node", i, node);
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const int node = plan.steps[i];
    const Node& running = dag.nodes[at(node)];
    for (int input : running.inputs)
      if (times[at(input)] == 0)
        return fmt::format("step {} computes node {} before its input {}", i, node, input);
    if (times[at(node)]++ > 0) {
      if (!running.pure)
        return fmt::format("step {} computes node {} again, which is not pure", i, node);
      added_cost += running.cost;
    }
  }
  for (int node = 0; node < nodes; ++node)
    if (times[at(node)] == 0) return fmt::format("node {} is never computed", node);
  const std::int64_t peak = peak_of(dag, plan.steps);
  if (peak != plan.peak) return fmt::format("the peak is {}, not {}", peak, plan.peak);
  if (added_cost != plan.added_cost)
    return fmt::format("the added cost is {}, not {}", added_cost, plan.added_cost);
  if (peak > budget) return fmt::format("the peak {} is above the budget {}", peak, budget);
  return std::nullopt;
}

}  // namespace tenure::planner
