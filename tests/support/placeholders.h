#pragma once

#include <string>
#include <vector>

#include "tenure/graph/session.h"

namespace tenure::test {

/// A placeholder of a graph for each of some tensors, and the tensors as what they are fed.
struct Placeholders {
  Placeholders(Graph& graph, const std::vector<Tensor>& tensors) {
    for (const Tensor& tensor : tensors) {
      symbols.push_back(
          graph.placeholder(std::to_string(symbols.size()), tensor.dtype(), tensor.shape()));
      feeds.emplace_back(symbols.back(), tensor);
    }
  }
  std::vector<Tensor> symbols;
  std::vector<Feed> feeds;
};

}  // namespace tenure::test
