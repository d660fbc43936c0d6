#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "tenure/planner/dag.h"

// Programs for the tests of ordering.

namespace tenure::planner {

/// Sizes, workspaces, in-place chances and outputs by chance, for nodes that have their inputs.
inline void decorate(Dag& dag, std::mt19937_64& random) {
  const std::int64_t most = random() % 2 == 0 ? 4 : 100;  // small ones make ties
  const auto amount = [&] { return static_cast<std::int64_t>(random() % (most + 1)); };
  dag.resident = random() % 3 == 0 ? amount() : 0;
  for (Node& node : dag.nodes) {
    node.bytes = amount();
    node.workspace = random() % 3 == 0 ? amount() : 0;
    node.overwrites = random() % 2 == 0 ? static_cast<std::uint32_t>(random() % 8) : 0;
    node.output = random() % 6 == 0;
  }
}

/// Each pair of nodes is an edge with this chance, in percent.
inline Dag random_dag(int size, int percent, std::mt19937_64& random) {
  Dag dag;
  dag.nodes.resize(static_cast<std::size_t>(size));
  for (int v = 0; v < size; ++v) {
    for (int u = 0; u < v; ++u) {
      if (static_cast<int>(random() % 100) < percent) {
        dag.nodes[static_cast<std::size_t>(v)].inputs.push_back(u);
      }
    }
  }
  decorate(dag, random);
  return dag;
}

/// Layers of chance width; each node reads some of the layer before, and a few read far back.
inline Dag layered_dag(int size, std::mt19937_64& random) {
  Dag dag;
  dag.nodes.resize(static_cast<std::size_t>(size));
  int width = 1;
  while (width * width * 4 < size) ++width;
  int before = 0;  // where the layer before begins
  int begin = 0;
  int end = 1;
  for (int v = 1; v < size; ++v) {
    if (v >= end) {
      before = begin;
      begin = end;
      end += 1 + static_cast<int>(random() % static_cast<std::uint64_t>(2 * width));
    }
    std::vector<int>& inputs = dag.nodes[static_cast<std::size_t>(v)].inputs;
    const auto in = [&](int low, int high) {
      return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low));
    };
    inputs.push_back(in(before, begin));
    for (int more = in(0, 3); more > 0; --more) inputs.push_back(in(before, begin));
    if (random() % 3 == 0) inputs.push_back(in(0, begin));
    std::sort(inputs.begin(), inputs.end());
    inputs.erase(std::unique(inputs.begin(), inputs.end()), inputs.end());
  }
  decorate(dag, random);
  return dag;
}

/// The same program with its nodes in another order, and so, mostly, inputs after their readers.
inline Dag shuffled(const Dag& dag, std::mt19937_64& random) {
  std::vector<int> name(dag.nodes.size());
  for (std::size_t i = 0; i < name.size(); ++i) name[i] = static_cast<int>(i);
  for (std::size_t i = name.size(); i > 1; --i) std::swap(name[i - 1], name[random() % i]);
  Dag result = dag;
  for (std::size_t v = 0; v < name.size(); ++v) {
    Node& node = result.nodes[static_cast<std::size_t>(name[v])];
    node = dag.nodes[v];
    for (int& input : node.inputs) input = name[static_cast<std::size_t>(input)];
  }
  return result;
}

}  // namespace tenure::planner
