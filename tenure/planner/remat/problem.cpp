#include "tenure/planner/remat/problem.h"

#include <limits>
#include <string>

#include "tenure/base/error.h"

namespace tenure::planner::remat {

Problem::Problem(const Dag& dag, Unit unit) : end(static_cast<int>(dag.nodes.size())) {
  constexpr std::int64_t kLargestCost = std::int64_t{1} << 50;
  std::int64_t workspace = 0;
  for (const Node& node : dag.nodes) {
    total_bytes += node.bytes;
    workspace += node.workspace;
    if (node.cost > kLargestCost - base_cost)
      throw ValueError("rematerialize: the costs sum to more than 2^50; use a coarser unit");
    base_cost += node.cost;
  }
  const std::int64_t most =
      std::numeric_limits<std::int64_t>::max() / (4 * kLongestWord * (end + 1));
  const std::int64_t all = total_bytes + workspace + dag.resident;
  while (unit == Unit::scaled && (all >> shift) > most) ++shift;

  const auto round_up = [this](std::int64_t size) {
    return (size >> shift) + ((size & ((std::int64_t{1} << shift) - 1)) != 0);
  };
  resident = round_up(dag.resident);
  total_bytes = 0;
  std::vector<int> outputs;
  input_start.push_back(0);
  for (int i = 0; i < end; ++i) {
    const Node& node = dag.nodes[i];
    bytes.push_back(round_up(node.bytes));
    own.push_back(bytes.back() + round_up(node.workspace));
    cost.push_back(node.cost);
    overwrites.push_back(node.overwrites);
    pure.push_back(node.pure);
    total_bytes += bytes.back();
    any_overwrites = any_overwrites || node.overwrites != 0;
    input_list.insert(input_list.end(), node.inputs.begin(), node.inputs.end());
    input_start.push_back(static_cast<int>(input_list.size()));
    if (node.output) outputs.push_back(i);
  }
  bytes.push_back(0);
  own.push_back(0);
  cost.push_back(0);
  overwrites.push_back(0);
  pure.push_back(false);
  input_list.insert(input_list.end(), outputs.begin(), outputs.end());
  input_start.push_back(static_cast<int>(input_list.size()));
}

}  // namespace tenure::planner::remat
