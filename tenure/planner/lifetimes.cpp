#include "tenure/planner/lifetimes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "tenure/base/error.h"

namespace tenure::planner {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

}  // namespace

Lifetimes lifetimes_of(const Dag& dag, const std::vector<int>& schedule) {
  Lifetimes result;
  std::vector<Buffer>& buffers = result.problem.buffers;
  const int end = static_cast<int>(schedule.size());
  std::vector<int> latest(dag.nodes.size(), -1);  // the step that made the node's result
  std::vector<std::vector<int>> reads(schedule.size());
  for (int t = 0; t < end; ++t) {
    const int v = schedule[at(t)];
    if (v < 0 || at(v) >= dag.nodes.size()) {
      throw ValueError(fmt::format("step {} is node {}, which there is not", t, v));
    }
    for (const int input : dag.nodes[at(v)].inputs) {
      if (latest[at(input)] < 0) {
        throw ValueError(fmt::format("step {} computes node {} before its input {}", t, v, input));
      }
      reads[at(t)].push_back(latest[at(input)]);
      buffers[at(latest[at(input)])].upper = t + 1;
    }
    latest[at(v)] = t;
    buffers.push_back({.size = dag.nodes[at(v)].bytes, .lower = t, .upper = t + 1});
    result.step.push_back(t);
  }
  for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
    if (latest[v] < 0) throw ValueError(fmt::format("node {} does not run", v));
    if (dag.nodes[v].output) buffers[at(latest[v])].upper = end + 1;
  }

  // Of each group: the first of a chain is the largest.
  std::vector<std::int64_t> sizes;
  for (int t = 0; t < end; ++t) {
    const Node& node = dag.nodes[at(schedule[at(t)])];
    for (std::size_t i = 0; i < std::min<std::size_t>(reads[at(t)].size(), 32); ++i) {
      Buffer& input = buffers[at(reads[at(t)][i])];
      const bool last_read = input.upper == t + 1;
      if ((node.overwrites >> i & 1) == 0 || !last_read || input.size < node.bytes) continue;
      if (input.group < 0) {
        input.group = static_cast<int>(sizes.size());
        sizes.push_back(input.size);
      }
      Buffer& own = buffers[at(t)];
      own.group = input.group;
      // Once the input is gone, others may have what it had more.
      if (own.size < sizes[at(own.group)] && own.upper > t + 1)
        own.gaps.push_back({.lower = t + 1, .upper = own.upper, .bottom = 0, .top = own.size});
      break;
    }
  }
  for (int t = 0; t < end; ++t) {
    const std::int64_t workspace = dag.nodes[at(schedule[at(t)])].workspace;
    if (workspace == 0) continue;
    buffers.push_back({.size = workspace, .lower = t, .upper = t + 1});
    result.step.push_back(t);
  }
  return result;
}

}  // namespace tenure::planner
