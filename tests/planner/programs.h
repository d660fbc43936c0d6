#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "tenure/planner/dag.h"

// Programs to plan: training steps of several architectures, and random ones.

namespace tenure::planner {

/// Builds a forward pass node by node and then its backward pass: for each node, from the last to
/// the first, the gradient of its result, which reads the gradients of its readers and, of what the
/// node read, its saved inputs; and for layers with weights the gradient of those, of no bytes.
class TrainingStep {
 public:
  int add(std::vector<int> inputs, std::int64_t bytes, std::int64_t cost,
          bool has_weights = false) {
    Node node;
    node.bytes = bytes;
    node.cost = cost;
    node.inputs = std::move(inputs);
    dag_.nodes.push_back(std::move(node));
    has_weights_.push_back(has_weights);
    return static_cast<int>(dag_.nodes.size()) - 1;
  }
  /// Convolution, normalization, activation.
  int layer(std::vector<int> inputs, std::int64_t bytes, std::int64_t cost) {
    const int linear = add(std::move(inputs), bytes, cost, true);
    const int normal = add({linear}, bytes, cost / 6 + 1);
    return add({normal}, bytes, cost / 12 + 1);
  }

  Dag with_backward() const {
    Dag dag = dag_;
    const int forward = static_cast<int>(dag_.nodes.size());
    std::vector<std::vector<int>> gradients(dag_.nodes.size());
    for (int v = forward - 1; v >= 0; --v) {
      const Node& node = dag_.nodes[static_cast<std::size_t>(v)];
      std::vector<int> reads = gradients[static_cast<std::size_t>(v)];
      if (reads.empty()) reads.push_back(v);
      Node gradient;
      gradient.bytes = 0;
      gradient.cost = node.cost;
      for (int input : node.inputs)
        gradient.bytes += dag_.nodes[static_cast<std::size_t>(input)].bytes;
      gradient.inputs = reads;
      if (!has_weights_[static_cast<std::size_t>(v)])
        for (int input : node.inputs)
          if (std::find(reads.begin(), reads.end(), input) == reads.end())
            gradient.inputs.push_back(input);
      if (has_weights_[static_cast<std::size_t>(v)]) {
        Node weights;
        weights.cost = node.cost;
        weights.inputs = node.inputs;
        weights.inputs.insert(weights.inputs.end(), reads.begin(), reads.end());
        std::sort(weights.inputs.begin(), weights.inputs.end());
        weights.inputs.erase(std::unique(weights.inputs.begin(), weights.inputs.end()),
                             weights.inputs.end());
        dag.nodes.push_back(std::move(weights));
      }
      const int id = static_cast<int>(dag.nodes.size());
      dag.nodes.push_back(std::move(gradient));
      for (int input : node.inputs) gradients[static_cast<std::size_t>(input)].push_back(id);
    }
    return dag;
  }

 private:
  Dag dag_;
  std::vector<char> has_weights_;
};

inline Dag chain(int layers) {
  TrainingStep step;
  int x = step.add({}, 64, 1);
  for (int i = 0; i < layers; ++i) x = step.layer({x}, 64, 60);
  return step.with_backward();
}

inline Dag residual(int blocks) {
  TrainingStep step;
  int x = step.add({}, 256, 1);
  for (int i = 0; i < blocks; ++i) {
    const std::int64_t bytes = 256 >> (4 * i / blocks);
    const int shortcut = i % 4 == 0 ? step.add({x}, bytes, 40, true) : x;
    int y = step.layer({x}, bytes / 2, 30);
    y = step.layer({y}, bytes / 2, 90);
    y = step.add({y}, bytes, 35, true);
    x = step.add({y, shortcut}, bytes, 8);
  }
  return step.with_backward();
}

inline Dag unet(int depth) {
  TrainingStep step;
  int x = step.add({}, 512, 1);
  std::vector<int> skips;
  for (int i = 0; i < depth; ++i) {
    x = step.layer({x}, 512 >> i, 100);
    skips.push_back(x);
    x = step.add({x}, 512 >> (i + 1), 10);
  }
  for (int i = depth - 1; i >= 0; --i) {
    const int up = step.add({x}, 512 >> i, 20);
    const int joined = step.add({up, skips[static_cast<std::size_t>(i)]}, 1024 >> i, 15);
    x = step.layer({joined}, 512 >> i, 180);
  }
  return step.with_backward();
}

inline Dag inception(int modules) {
  TrainingStep step;
  int x = step.add({}, 128, 1);
  for (int i = 0; i < modules; ++i) {
    const int a = step.layer({x}, 32, 20);
    const int b = step.layer({step.layer({x}, 48, 25)}, 48, 110);
    const int c = step.layer({step.layer({x}, 8, 6)}, 16, 30);
    const int d = step.layer({step.add({x}, 128, 12)}, 32, 18);
    x = step.add({a, b, c, d}, 128, 9);
  }
  return step.with_backward();
}

inline Dag transformer(int blocks) {
  TrainingStep step;
  int x = step.add({}, 64, 1);
  for (int i = 0; i < blocks; ++i) {
    const int n = step.add({x}, 64, 4);
    const int q = step.add({n}, 64, 30, true);
    const int k = step.add({n}, 64, 30, true);
    const int v = step.add({n}, 64, 30, true);
    const int scores = step.add({q, k}, 256, 25);
    const int weights = step.add({scores}, 256, 20);
    const int mixed = step.add({step.add({weights, v}, 64, 25)}, 64, 30, true);
    x = step.add({x, mixed}, 64, 3);
    const int up = step.add({step.add({x}, 64, 4)}, 256, 120, true);
    x = step.add({x, step.add({step.add({up}, 256, 10)}, 64, 120, true)}, 64, 3);
  }
  return step.with_backward();
}

/// A random program of any shape, with ties, nodes of no bytes or cost, and, if asked for, impure
/// nodes, outputs, workspace and overwrites.
inline Dag random_program(int nodes, std::mt19937& random, bool plain) {
  const auto below = [&](int count) {
    return static_cast<int>(random() % static_cast<unsigned>(count));
  };
  Dag dag;
  dag.resident = below(4);
  for (int v = 0; v < nodes; ++v) {
    Node node;
    node.bytes = below(6);
    node.cost = below(5);
    const int from = std::max(0, v - 4 - below(nodes));
    for (int u = from; u < v; ++u)
      if (below(v - from + 1) < 2) node.inputs.push_back(u);
    if (!plain) {
      node.workspace = below(4) == 0 ? below(5) : 0;
      node.pure = below(6) != 0;
      node.output = below(6) == 0;
      if (!node.inputs.empty() && below(3) == 0)
        node.overwrites = 1U << below(static_cast<int>(node.inputs.size()));
    }
    dag.nodes.push_back(std::move(node));
  }
  return dag;
}

/// The peak without any recomputation, in the order of the indices.
inline std::int64_t plain_peak(const Dag& dag) {
  std::vector<std::size_t> last(dag.nodes.size());
  for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
    last[v] = dag.nodes[v].output ? dag.nodes.size() : v;
    for (int input : dag.nodes[v].inputs)
      last[static_cast<std::size_t>(input)] = std::max(last[static_cast<std::size_t>(input)], v);
  }
  std::int64_t peak = dag.resident;
  for (std::size_t v = 0; v < dag.nodes.size(); ++v) {
    std::int64_t live = dag.resident + dag.nodes[v].workspace;
    for (std::size_t u = 0; u <= v; ++u)
      if (last[u] >= v) live += dag.nodes[u].bytes;
    peak = std::max(peak, live);
  }
  return peak;
}

inline std::int64_t total_cost(const Dag& dag) {
  std::int64_t cost = 0;
  for (const Node& node : dag.nodes) cost += node.cost;
  return cost;
}

}  // namespace tenure::planner
