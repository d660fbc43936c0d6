#include "tenure/planner/dag.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "tenure/base/error.h"
#include "tenure/planner/cycle.h"

namespace tenure::planner {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 4;

std::size_t at(int i) { return static_cast<std::size_t>(i); }

void check_amount(std::size_t node, const char* what, std::int64_t amount, std::int64_t& total) {
  if (amount < 0) throw ValueError(fmt::format("node {} has {} {}", node, amount, what));
  if (amount > kMost - total) {
    throw ValueError(
        fmt::format("the {} of all nodes overflow at node {}, which has {}", what, node, amount));
  }
  total += amount;
}

void check_inputs(const Dag& dag) {
  const std::size_t size = dag.nodes.size();
  std::vector<std::size_t> reader(size, size);
  for (std::size_t v = 0; v < size; ++v) {
    for (const int input : dag.nodes[v].inputs) {
      if (input < 0 || at(input) >= size) {
        throw ValueError(
            fmt::format("node {} reads node {}, and there are {} nodes", v, input, size));
      }
      if (reader[at(input)] == v) {
        throw ValueError(fmt::format("node {} names its input {} twice", v, input));
      }
      reader[at(input)] = v;
    }
  }
}

}  // namespace

std::vector<int> find_cycle(const Dag& dag) {
  std::vector<int> waits_for;
  std::vector<std::vector<int>> readers(dag.nodes.size());
  std::vector<int> ready;
  for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
    waits_for.push_back(static_cast<int>(dag.nodes[v].inputs.size()));
    for (const int input : dag.nodes[v].inputs) readers[at(input)].push_back(static_cast<int>(v));
    if (waits_for.back() == 0) ready.push_back(static_cast<int>(v));
  }
  for (std::size_t i = 0; i < ready.size(); ++i) {
    for (const int reader : readers[at(ready[i])]) {
      if (--waits_for[at(reader)] == 0) ready.push_back(reader);
    }
  }
  std::vector<int> path;
  if (ready.size() == dag.nodes.size()) return path;

  // What waits still is on a cycle or behind one: going from input to input ends on it.
  const auto stuck = std::find_if(waits_for.begin(), waits_for.end(), [](int n) { return n > 0; });
  std::vector<bool> seen(dag.nodes.size(), false);
  int v = static_cast<int>(stuck - waits_for.begin());
  while (!seen[at(v)]) {
    seen[at(v)] = true;
    path.push_back(v);
    const std::vector<int>& inputs = dag.nodes[at(v)].inputs;
    v = *std::find_if(inputs.begin(), inputs.end(), [&](int u) { return waits_for[at(u)] > 0; });
  }
  path.erase(path.begin(), std::find(path.begin(), path.end(), v));
  std::reverse(path.begin(), path.end());
  std::rotate(path.begin(), std::min_element(path.begin(), path.end()), path.end());
  return path;
}

void check(const Dag& dag) {
  if (dag.resident < 0 || dag.resident > kMost) {
    throw ValueError(fmt::format("there are {} resident bytes", dag.resident));
  }
  if (dag.nodes.size() > at(std::numeric_limits<int>::max() / 4)) {
    throw ValueError(fmt::format("there are {} nodes, too many", dag.nodes.size()));
  }
  std::int64_t bytes = dag.resident;
  std::int64_t cost = 0;
  for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
    check_amount(v, "bytes", dag.nodes[v].bytes, bytes);
    check_amount(v, "bytes of workspace", dag.nodes[v].workspace, bytes);
    check_amount(v, "cost", dag.nodes[v].cost, cost);
  }
  check_inputs(dag);
  std::vector<int> cycle = find_cycle(dag);
  if (cycle.empty()) return;
  constexpr std::size_t kNamed = 10;
  const std::size_t length = cycle.size();
  cycle.resize(std::min(length, kNamed));
  throw ValueError(fmt::format("nodes wait for each other: {} -> {} (a cycle of {})",
                               fmt::join(cycle, " -> "),
                               length > kNamed ? "..." : std::to_string(cycle[0]), length));
}

}  // namespace tenure::planner
